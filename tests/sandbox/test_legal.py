"""Legal but unusual programs: right results and no alarm, on a busy machine as well."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import legal
import pytest
import torch.distributed as dist
from legal.program import PROGRAMS, Program

import sandbox

for path in sorted(Path(legal.__path__[0]).glob("*.py")):
    importlib.import_module(f"legal.{path.stem}")

BY_FILE = {
    path.stem: [p for p in PROGRAMS if p.__module__ == f"legal.{path.stem}"]
    for path in sorted(Path(legal.__path__[0]).glob("*.py"))
    if path.stem != "program"
}


def run_all(programs: list[Program]) -> None:
    for program in programs:
        program(dist.get_rank(), dist.get_world_size())


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Keep every core busy, so that ranks are late in whatever order."""
    spinners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    yield
    for spinner in spinners:
        spinner.kill()
        spinner.wait()


@pytest.mark.parametrize(
    "world_size", [1, 3, *(pytest.param(even, marks=pytest.mark.slow) for even in (2, 4))]
)
@pytest.mark.parametrize("file", BY_FILE)
def test_legal_programs_one_after_the_other_raise_no_alarm(file: str, world_size: int) -> None:
    ledger = sandbox.launch(run_all, BY_FILE[file], world_size=world_size, timeout_s=90).ledger
    assert all(event.call_site for event in ledger)


@pytest.mark.slow
@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_legal_program_raises_no_alarm_on_a_busy_machine(program: Program) -> None:
    sandbox.launch(run_all, [program], world_size=3, timeout_s=100)


def launch_within_rank_0() -> list[int] | None:
    inner = sandbox.launch(dist.get_rank, world_size=2) if dist.get_rank() == 0 else None
    dist.barrier()
    return inner and inner.results


@pytest.mark.slow  # it starts a warm process of its own
def test_a_launch_within_a_rank_raises_no_alarm() -> None:
    run = sandbox.launch(launch_within_rank_0, world_size=2, timeout_s=100)
    assert run.results == [[0, 1], None]


def test_there_are_enough() -> None:
    names = [program.__name__ for program in PROGRAMS]
    assert len(names) == len(set(names)) >= 40
