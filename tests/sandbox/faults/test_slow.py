"""Slow: what one rank computes takes longer by a factor; its waiting does not."""

from __future__ import annotations

import threading
import time

import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox import Slow
from sandbox.faults.slow import Stretch


class Clock:
    """A thread's CPU time and what it slept, both set by hand."""

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self.slept_s: list[float] = []

    def read(self) -> float:
        return self.cpu_s


def test_it_sleeps_in_proportion_to_the_cpu_time_since_the_last_time() -> None:
    clock = Clock()
    stretch = Stretch(2.5, clock.read, clock.slept_s.append)
    for used_s in (1.0, 0.0, 0.5):
        clock.cpu_s += used_s
        stretch()
    assert clock.slept_s == [1.5, 0.0, 0.75]


def test_a_factor_of_1_changes_nothing() -> None:
    clock = Clock()
    stretch = Stretch(1, clock.read, clock.slept_s.append)
    clock.cpu_s = 3.0
    stretch()
    assert clock.slept_s == [0.0]


def test_each_thread_has_a_time_of_its_own() -> None:
    clock = Clock()
    stretch = Stretch(3, clock.read, clock.slept_s.append)

    def work_twice() -> None:
        stretch()  # what it did before is not known
        clock.cpu_s += 2.0
        stretch()

    clock.cpu_s = 100.0
    thread = threading.Thread(target=work_twice)
    thread.start()
    thread.join()
    assert clock.slept_s == [0.0, 4.0]


def compute(how: str) -> float:
    """Use 0.2 s of CPU time, then do what ends a stretch; return how long that took in all."""
    start_s, end_s = time.monotonic(), time.thread_time() + 0.2
    while time.thread_time() < end_s:
        torch.ones(100).sum()
    if how == "collective":
        dist.all_reduce(torch.ones(1))
    if how == "step":
        parameter = torch.nn.Parameter(torch.ones(1))
        parameter.grad = torch.ones(1)
        torch.optim.SGD([parameter]).step()
    return time.monotonic() - start_s


@pytest.mark.parametrize("world_size", [1, 3])
@pytest.mark.parametrize("how", ["collective", "step"])
def test_collectives_and_steps_are_reached_later(how: str, world_size: int) -> None:
    rank = world_size - 1
    run = sandbox.launch(compute, how, world_size=world_size, faults=[Slow(rank, factor=4)])
    assert run.results[rank] >= 0.8


def test_what_is_computed_after_the_last_collective_counts_too() -> None:
    run = sandbox.launch(compute, "nothing", world_size=1, faults=[Slow(0, factor=4)])
    assert run.duration_s >= 0.8


def test_the_results_are_the_same_and_so_are_the_collectives() -> None:
    def sum_ranks() -> float:
        total = torch.tensor([float(dist.get_rank())])
        dist.all_reduce(total)
        return total.item()

    run = sandbox.launch(sum_ranks, world_size=3, faults=[Slow(1, 2)])
    assert run.results == [3.0] * 3
    assert len(run.ledger) == 3
