"""Hangs and mismatches of real ranks: named at once, with the culprit and the learner's lines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

import sandbox

ONES = (4,)
HERE = Path(__file__).name


def all_reduce(**kwargs: object) -> None:
    dist.all_reduce(torch.ones(ONES), **kwargs)


def skip_a_collective(rank: int) -> None:
    all_reduce()
    if rank != 2:
        all_reduce()


def call_it_alone(rank: int) -> None:
    dist.barrier()
    if rank == 0:
        dist.all_gather_single(torch.empty(16), torch.ones(ONES))


def return_early(rank: int) -> None:
    for step in range(5):
        if rank == 1 and step == 3:
            return
        dist.reduce_scatter_single(torch.empty(1), torch.ones(ONES))


def swallow_an_exception(rank: int) -> None:
    try:
        if rank == 3:
            raise OSError("no such sample")
        all_reduce()
    except OSError:
        pass


def lock_two_groups_crosswise(rank: int) -> None:
    a, b = dist.new_group(), dist.new_group()
    for group in (b, a) if rank == 3 else (a, b):
        all_reduce(group=group)


def create_a_group_on_some_ranks(rank: int) -> None:
    if rank != 1:
        dist.new_group([0, 1])


def train_one_step_more(rank: int) -> None:
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
    for _ in range(2 + (rank == 0)):
        model(torch.ones(ONES)).sum().backward()


def skip_a_sharded_unit(rank: int) -> None:
    from torch.distributed.fsdp import fully_shard

    blocks = nn.ModuleList(fully_shard(nn.Linear(4, 4)) for _ in range(2))
    x = blocks[0](torch.ones(1, 4))
    if rank != 2:
        blocks[1](x)


def gather_a_state_dict_on_rank_0(rank: int) -> None:
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
    from torch.distributed.fsdp import fully_shard

    model = fully_shard(nn.Linear(4, 4))
    if rank == 0:
        get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))


def wait_in_a_thread(rank: int) -> None:
    if rank == 0:
        threading.Thread(target=all_reduce).start()


def save_in_a_pool_first(rank: int) -> None:
    """Leave an idle worker behind, as an asynchronous save does; it must not hide the deadlock."""
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(1)
    pool.submit(dist.barrier).result()
    if rank != 1:
        all_reduce()


def end_in_a_monitored_barrier(rank: int) -> None:
    if rank != 2:
        dist.monitored_barrier()


DEADLOCKS: list[tuple[Callable[[int], None], int, str]] = [
    (skip_a_collective, 2, "rank 2 never called all_reduce #2 of ranks 0-3: it finished after"),
    (call_it_alone, 0, "only rank 0 called all_gather #2 of ranks 0-3; ranks 1-3 finished"),
    (return_early, 1, "rank 1 never called reduce_scatter #4 of ranks 0-3"),
    (swallow_an_exception, 3, "rank 3 never called all_reduce #1 of ranks 0-3: it finished."),
    (lock_two_groups_crosswise, 3, "ranks 0-3 wait for each other."),
    (create_a_group_on_some_ranks, 1, "rank 1 never called new_group of ranks 0, 1"),
    (train_one_step_more, 0, "only rank 0 called all_reduce #"),
    (skip_a_sharded_unit, 2, "rank 2 never called all_gather #2 of ranks 0-3"),
    (gather_a_state_dict_on_rank_0, 0, "only rank 0 called all_gather #1 of ranks 0-3"),
    (wait_in_a_thread, 0, "only rank 0 called all_reduce #1 of ranks 0-3"),
    (save_in_a_pool_first, 1, "rank 1 never called all_reduce #2 of ranks 0-3"),
    (end_in_a_monitored_barrier, 2, "rank 2 never called monitored_barrier #1 of ranks 0-3"),
]


def named(cases: list[tuple[Callable[[int], None], int, str]]) -> list:
    return [pytest.param(*case, id=case[0].__name__) for case in cases]


def on_each_rank(function: Callable[[int], None]) -> None:
    function(dist.get_rank())


@pytest.mark.parametrize(("function", "culprit", "said"), named(DEADLOCKS))
def test_a_deadlock_is_named(function: Callable, culprit: int, said: str) -> None:
    with pytest.raises(sandbox.DeadlockError) as caught:
        sandbox.launch(on_each_rank, function)
    error = caught.value
    assert error.message.startswith(said)
    assert error.rank == culprit
    assert HERE in error.message.splitlines()[1]
    assert error.site is not None
    assert HERE in error.site
    assert error.run is not None
    assert error.run.duration_s < 10  # far below the timeout; the proof itself takes 0.1 s


def reduce_otherwise(rank: int) -> None:
    all_reduce(op=dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM)


def call_another_operation(rank: int) -> None:
    dist.barrier() if rank == 3 else all_reduce()


def hold_another_size(rank: int) -> None:
    dist.broadcast(torch.ones(4 + (rank == 2)), src=0)


def hold_another_dtype(rank: int) -> None:
    dist.all_reduce(torch.ones(4, dtype=torch.int32 if rank == 2 else torch.float32))


def name_another_root(rank: int) -> None:
    dist.broadcast(torch.ones(4), src=int(rank == 1))


def split_otherwise(rank: int) -> None:
    sends = [2, 1, 1, 0] if rank == 1 else [1, 1, 1, 1]
    dist.all_to_all_single(torch.empty(4), torch.ones(4), [1, 1, 1, 1], sends)


def skip_and_go_on(rank: int) -> None:
    if rank != 0:
        all_reduce()
    dist.all_gather_single(torch.empty(16), torch.ones(ONES))


MISMATCHES: list[tuple[Callable[[int], None], int, str]] = [
    (reduce_otherwise, 1, "rank 1 called all_reduce #1 of ranks 0-3 with another reduction than"),
    (call_another_operation, 3, "rank 3 called barrier where ranks 0-2 called all_reduce"),
    (hold_another_size, 2, "rank 2 called broadcast #1 of ranks 0-3 with another number of el"),
    (hold_another_dtype, 2, "rank 2 called all_reduce #1 of ranks 0-3 with another dtype than"),
    (name_another_root, 1, "rank 1 called broadcast #1 of ranks 0-3 with another root than"),
    (split_otherwise, 1, "rank 1 and rank 0 disagree on the sizes of all_to_all #1 of ranks 0-3"),
    (skip_and_go_on, 0, "rank 0 called all_gather where ranks 1-3 called all_reduce"),
]


@pytest.mark.parametrize(("function", "culprit", "said"), named(MISMATCHES))
def test_a_mismatch_is_named(function: Callable, culprit: int, said: str) -> None:
    with pytest.raises(sandbox.CollectiveMismatchError) as caught:
        sandbox.launch(on_each_rank, function)
    error = caught.value
    assert error.message.startswith(said)
    assert error.rank == culprit
    assert HERE in error.message.splitlines()[1]
    assert HERE in (error.site or "")
    assert error.run is not None
    assert len(error.run.ledger) >= 2


def test_an_exception_is_no_deadlock() -> None:
    def raise_on_rank_1() -> None:
        if dist.get_rank() == 1:
            raise KeyError("lr")
        all_reduce()

    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(raise_on_rank_1)
    assert (caught.value.rank, caught.value.exc_type) == (1, "KeyError")


def test_a_busy_rank_is_no_deadlock() -> None:
    def spin_on_rank_1() -> None:
        while dist.get_rank() == 1:
            pass
        all_reduce()

    with pytest.raises(
        sandbox.RankTimeoutError, match="waiting for rank 1 in all_reduce #1"
    ) as caught:
        sandbox.launch(spin_on_rank_1, timeout_s=1.0)
    assert caught.value.rank == 1
