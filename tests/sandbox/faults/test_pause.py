"""Pause: the whole process stops and goes on; nothing else changes, and nobody calls it a hang."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn

import sandbox
from sandbox import Collective, Pause, Step


def train_by_hand(num_steps: int) -> float:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    for _ in range(num_steps):
        parameter.grad = torch.full((3,), 1.0 + dist.get_rank())
        dist.all_reduce(parameter.grad)
        optimizer.step()
    return parameter.sum().item()


@pytest.mark.parametrize("world_size", [1, 3])
@pytest.mark.parametrize("at", [Step(2), Collective(2)])
def test_the_run_takes_longer_and_ends_the_same(world_size: int, at: Step | Collective) -> None:
    whole = sandbox.launch(train_by_hand, 3, world_size=world_size)
    pause = Pause(rank=0, at=at, for_s=0.8)
    run = sandbox.launch(train_by_hand, 3, world_size=world_size, faults=[pause])
    assert run.results == whole.results
    assert len(run.ledger) == len(whole.ledger)
    (paused,) = run.faults
    assert (paused.fault, paused.rank) == (pause, 0)
    assert paused.end_s - paused.start_s >= 0.8
    assert repr(run).endswith(f", injected: {pause!r})")
    assert whole.faults == ()
    first, second, _ = (time_s for _, time_s in run.steps[0])
    assert first < paused.start_s < paused.end_s < run.steps[0][2][1]
    assert second - first >= 0.8
    starts = [event.start_s for event in run.ledger.where(rank=0)]
    if at == Step(2):  # before it changes the weights, so after the collective of its gradient
        assert starts[1] < second - 0.8 < second < starts[2]
    else:
        assert starts[1] >= first + 0.8


def test_all_threads_stop() -> None:
    def count_in_a_thread() -> float:
        import threading
        import time

        largest_gap_s, is_over = 0.0, threading.Event()

        def watch() -> None:
            nonlocal largest_gap_s
            last_s = time.monotonic()
            while not is_over.wait(0.001):
                now_s = time.monotonic()
                largest_gap_s, last_s = max(largest_gap_s, now_s - last_s), now_s

        thread = threading.Thread(target=watch)
        thread.start()
        dist.barrier()
        is_over.set()
        thread.join()
        return largest_gap_s

    run = sandbox.launch(count_in_a_thread, world_size=1, faults=[Pause(0, Collective(1), 0.6)])
    assert run.results[0] >= 0.5


def test_a_pause_longer_than_the_timeout_is_a_stopped_rank_and_no_deadlock() -> None:
    pause = Pause(rank=1, at=Collective(2), for_s=600)
    with pytest.raises(sandbox.RankTimeoutError) as error:
        sandbox.launch(train_by_hand, 3, world_size=3, timeout_s=3, faults=[pause])
    assert "rank 1: stopped (SIGSTOP)" in error.value.message
    assert "ranks 0, 2: waiting for rank 1 in collective #2, all_reduce" in error.value.message
    assert f"Injected: {pause!r}." in error.value.message
    (paused,) = error.value.run.faults
    assert (paused.rank, paused.end_s) == (1, None)
    title = "rank 1: paused from "
    assert title in error.value.run._repr_mimebundle_()["image/svg+xml"]
