"""What recording costs: FSDP2 steps on an observed group and on a plain one, in turn."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any
from unittest import mock

import sandbox
from benchmarks import programs
from benchmarks.report import Result

NUM_ROUNDS = 60
STEPS_A_ROUND = 3
GOAL_PERCENT = 5.0


def recording(tmp: str) -> Iterator[Result]:
    """Compare means over all ranks and rounds: one rank's own times depend on its neighbours."""
    rounds = [
        pair for of_rank in sandbox.launch(alternate, timeout_s=300).results for pair in of_rank
    ]
    observed_s, plain_s = map(statistics.fmean, zip(*rounds, strict=True))
    more_s = observed_s - plain_s
    what = f"recording a 4-rank FSDP2 step of {1e3 * plain_s / STEPS_A_ROUND:.0f} ms costs"
    yield Result(what, 100 * more_s / plain_s, GOAL_PERCENT, unit="%")


def alternate() -> list[tuple[float, float]]:
    """Return the seconds of each round: observed, and not. Which comes first changes."""
    import time

    import torch
    import torch.distributed as dist
    from torch.distributed import distributed_c10d as c10d
    from torch.distributed.device_mesh import DeviceMesh

    def new_trainer() -> programs.Trainer:
        mesh = DeviceMesh.from_group(dist.new_group(), "cpu")
        return programs.Trainer(mesh)

    observed = new_trainer()
    make_observed: Any = c10d._new_process_group_helper
    torchs_own = {
        "_new_process_group_helper": make_observed.args[0],
        "ProcessGroup": dist.ProcessGroup,
    }
    with mock.patch.multiple(c10d, **torchs_own):
        plain = new_trainer()

    def time_round(trainer: programs.Trainer) -> float:
        dist.all_reduce(torch.ones(1))  # all ranks begin together
        start_s = time.perf_counter()
        for _ in range(STEPS_A_ROUND):
            trainer.step()
        return time.perf_counter() - start_s

    for trainer in (observed, plain):
        time_round(trainer)
    rounds = []
    for number in range(NUM_ROUNDS):
        trainers = (observed, plain) if number % 2 else (plain, observed)
        seconds = {id(trainer): time_round(trainer) for trainer in trainers}
        rounds.append((seconds[id(observed)], seconds[id(plain)]))
    return rounds
