"""How soon a hang is told: from the moment it is certain to the raised error, over all planted."""

from __future__ import annotations

import contextlib
import importlib
import io
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
import torch.distributed as dist

import sandbox
from benchmarks.report import Result
from sandbox.errors import ProvenError
from sandbox.proving.monitor import Monitor

PLANTED_IN = Path(__file__).parents[1] / "tests" / "sandbox"
GOAL_S = 0.5


class TimedMonitor(Monitor):
    """Remembers when a rank last began an operation, in the clock that all processes share."""

    last_s = 0.0

    def feed(self, rank: int, record: tuple) -> None:
        """Take in one record."""
        if record[0] == "issue":
            TimedMonitor.last_s = max(TimedMonitor.last_s, record[-1])
        super().feed(rank, record)


def run_and_tell_end(program: Callable[[int], None]) -> None:
    """Run a rank's program, and print when it is over."""
    program(dist.get_rank())
    print(f"over at {time.monotonic()}")


def measure(program: Callable[[int], None], world_size: int) -> float:
    """Return the seconds from the last act of any rank to the error, all ranks ended."""
    TimedMonitor.last_s = 0.0
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(ProvenError) as caught:
        sandbox.launch(run_and_tell_end, program, world_size=world_size)
    raised_s = time.monotonic()
    run = caught.value.run
    assert run is not None
    lines = [line for text in run.output for line in text.splitlines()]
    ends = [float(line.split()[-1]) for line in lines if line.startswith("over at ")]
    return raised_s - max([*ends, TimedMonitor.last_s])


def hangs(tmp: str) -> Iterator[Result]:
    """Every planted hang that can be proven."""
    sys.path.append(str(PLANTED_IN))
    for path in sorted((PLANTED_IN / "hangs").glob("*.py")):
        importlib.import_module(f"hangs.{path.stem}")
    planted = importlib.import_module("hangs.planted").PLANTED
    with mock.patch("sandbox.world.Monitor", TimedMonitor):
        latencies = {
            case.name: measure(case.program, case.world_size)
            for case in planted
            if issubclass(case.error, ProvenError)
        }
    slowest = max(latencies, key=lambda name: latencies[name])
    what = f"from certainty to the error, median of {len(latencies)} planted hangs"
    yield Result(what, statistics.median(latencies.values()), GOAL_S)
    yield Result(f"the same, the slowest ({slowest})", latencies[slowest])
