"""Legal but unusual programs: results are torch's, events are as issued, and no alarm is raised."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox import Op

PROGRAMS: list[Callable[[int, int], Any]] = []


def program(function: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    """Register a legal program of (rank, world_size); it asserts its own results."""
    PROGRAMS.append(function)
    return function


@program
def other_shapes_of_equal_numel(rank: int, world_size: int) -> None:
    x = torch.ones(4) if rank % 2 else torch.ones(2, 2)
    dist.all_reduce(x)
    dist.broadcast(x, src=world_size - 1)
    assert x.flatten().tolist() == [world_size] * 4


@program
def lists_off_the_root_are_none(rank: int, world_size: int) -> None:
    root = world_size - 1
    gathered = [torch.zeros(2) for _ in range(world_size)] if rank == root else None
    dist.gather(torch.full((2,), float(rank)), gathered, dst=root)
    part = torch.zeros(1)
    whole = [torch.full((1,), 10.0 * i) for i in range(world_size)] if rank == root else None
    dist.scatter(part, whole, src=root)
    assert part.item() == 10 * rank


@program
def uneven_all_to_all_single(rank: int, world_size: int) -> None:
    # Rank i sends i + j rows to rank j: the matrix is symmetric, its rows differ.
    splits = [rank + j for j in range(world_size)]
    received = torch.empty(sum(splits), 2)
    dist.all_to_all_single(received, torch.full((sum(splits), 2), float(rank)), splits, splits)
    senders = torch.arange(world_size).repeat_interleave(torch.tensor(splits))
    assert torch.equal(received[:, 0], senders.float())


@program
def one_sided_all_to_all_single(rank: int, world_size: int) -> None:
    # Everything to rank 0, so that sizes sent and expected differ on every rank.
    sends = [2] + [0] * (world_size - 1)
    takes = [2] * world_size if rank == 0 else [0] * world_size
    received = torch.empty(sum(takes))
    dist.all_to_all_single(received, torch.full((2,), float(rank)), takes, sends)
    assert received.tolist() == (
        [float(r) for r in range(world_size) for _ in "ab"] if rank == 0 else []
    )


@program
def all_to_all_lists(rank: int, world_size: int) -> None:
    takes = [torch.empty(2) for _ in range(world_size)]
    dist.all_to_all(takes, [torch.full((2,), float(rank)) for _ in range(world_size)])
    assert [t.tolist() for t in takes] == [[j, j] for j in range(world_size)]


@program
def uneven_reduce_scatter_lists(rank: int, world_size: int) -> None:
    shard = torch.empty(1 + rank)
    dist.reduce_scatter(shard, [torch.ones(1 + j) for j in range(world_size)])
    assert shard.tolist() == [world_size] * (1 + rank)


@program
def coalesced_blocks(rank: int, world_size: int) -> None:
    a, b = torch.ones(2), torch.ones(3)
    with dist._coalescing_manager():
        dist.all_reduce(a)
        dist.all_reduce(b)
    outs = [torch.empty(world_size), torch.empty(2 * world_size)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for out in outs:
            dist.all_gather_single(out, torch.full((len(out) // world_size,), float(rank)))
    manager.wait()
    assert a.tolist() == [world_size] * 2
    assert outs[0].tolist() == [float(r) for r in range(world_size)]


@program
def object_collectives(rank: int, world_size: int) -> None:
    objects: list[Any] = [None] * world_size
    dist.all_gather_object(objects, "x" * rank)
    assert objects == ["x" * r for r in range(world_size)]
    dist.gather_object({"rank": rank}, objects if rank == 0 else None)
    listed = [rank, "a"]
    dist.broadcast_object_list(listed, src=world_size - 1)
    assert listed == [world_size - 1, "a"]
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, list("abcdef")[:world_size] if rank == 0 else None)
    assert mine == ["abcdef"[rank]]


@program
def groups_within_groups(rank: int, world_size: int) -> None:
    evens = dist.new_group(list(range(0, world_size, 2)))
    alone = [dist.new_group([r]) for r in range(world_size)][rank]
    again = dist.new_group()
    x = torch.ones(1)
    if rank % 2 == 0:
        dist.all_reduce(x, group=evens)
        dist.broadcast(x, group_src=0, group=evens)
    dist.all_reduce(x, group=alone)
    dist.all_reduce(x, group=again)
    dist.barrier(group=again)


@program
def groups_made_by_their_members_alone(rank: int, world_size: int) -> None:
    group = dist.new_group([rank], use_local_synchronization=True)
    dist.all_reduce(torch.ones(1), group=group)


@program
def a_rank_that_leaves_early(rank: int, world_size: int) -> None:
    rest = dist.new_group(list(range(1, world_size))) if world_size > 1 else None
    for _ in range(20 if rank else 0):
        dist.all_reduce(torch.ones(1), group=rest)


@program
def a_rank_that_computes_long(rank: int, world_size: int) -> None:
    if rank == 0:
        sum(i * i for i in range(1_000_000))
    dist.barrier()


@program
def waits_in_another_order(rank: int, world_size: int) -> None:
    xs = [torch.full((3,), float(i)) for i in range(4)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    for work in works if rank % 2 else reversed(works):
        work.wait()
        work.wait()
    assert [x[0].item() for x in xs] == [i * world_size for i in range(4)]


@program
def collectives_never_waited_for(rank: int, world_size: int) -> None:
    dist.all_reduce(torch.ones(3), async_op=True)
    dist.all_gather_single(torch.empty(world_size), torch.ones(1), async_op=True)


@program
def two_groups_in_flight_crosswise(rank: int, world_size: int) -> None:
    a, b = dist.new_group(), dist.new_group()
    works = [
        dist.all_reduce(torch.ones(1), group=g, async_op=True) for g in ((a, b), (b, a))[rank % 2]
    ]
    for work in works:
        work.wait()


@program
def a_thread_with_its_own_group(rank: int, world_size: int) -> None:
    group = dist.new_group()

    def talk() -> None:
        for _ in range(10):
            dist.all_reduce(torch.ones(1), group=group)

    thread = threading.Thread(target=talk)
    thread.start()
    for _ in range(10):
        dist.all_reduce(torch.ones(1))
    thread.join()


@program
def a_thread_that_outlives_the_function(rank: int, world_size: int) -> None:
    group = dist.new_group()
    started = threading.Event()

    def talk() -> None:
        started.wait()
        dist.all_reduce(torch.ones(1), group=group)

    threading.Thread(target=talk).start()
    if rank == 0:
        sum(range(300_000))
    started.set()


@program
def messages(rank: int, world_size: int) -> None:
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    received = torch.empty(2)
    if world_size == 1:
        return
    sending = dist.isend(torch.full((2,), float(rank)), right, tag=7)
    dist.recv(received, left, tag=7)
    sending.wait()
    assert received.tolist() == [left, left]
    operations = [
        dist.P2POp(dist.irecv, received, left),
        dist.P2POp(dist.isend, torch.full((2,), 1.0), right),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    if rank == 0:
        sources = {dist.recv(received) for _ in range(world_size - 1)}
        assert sources == set(range(1, world_size))
    else:
        dist.send(received, 0)


@program
def an_invalid_call_that_all_catch(rank: int, world_size: int) -> None:
    outputs = [torch.empty(1 + j) for j in range(world_size)]  # gloo wants equal sizes
    with contextlib.suppress(RuntimeError):  # of one rank, it is legal
        dist.all_gather(outputs, torch.ones(1 + rank))
    dist.barrier()


@program
def an_invalid_call_that_one_rank_repeats_rightly(rank: int, world_size: int) -> None:
    outputs = [torch.empty(2) for _ in range(world_size)]
    if rank == 0:
        with contextlib.suppress(RuntimeError, ValueError):
            dist.all_gather([*outputs[1:], torch.empty(3)], torch.ones(2))
            raise AssertionError
        with contextlib.suppress(RuntimeError, ValueError):
            dist.reduce_scatter_single(torch.empty(3), torch.ones(5 * world_size))
            raise AssertionError
    dist.all_gather(outputs, torch.ones(2))
    dist.barrier()


@program
def a_wait_that_is_meant_to_time_out(rank: int, world_size: int) -> None:
    if world_size == 1:
        return
    if rank == 0:
        work = dist.all_reduce(torch.ones(1), async_op=True)
        with contextlib.suppress(RuntimeError):
            work.wait(timedelta(milliseconds=60))
            raise AssertionError
        dist.send(torch.ones(1), 1)
        work.wait()
    else:
        if rank == 1:
            dist.recv(torch.empty(1), 0)
        dist.all_reduce(torch.ones(1))


@program
def barriers(rank: int, world_size: int) -> None:
    dist.barrier(async_op=True).wait()
    dist.monitored_barrier()
    dist.monitored_barrier(timeout=timedelta(seconds=20), wait_all_ranks=True)


@program
def other_numbers(rank: int, world_size: int) -> None:
    z = torch.full((2,), 1 + 1j)
    dist.all_reduce(z)
    assert z.tolist() == [world_size * (1 + 1j)] * 2
    dist.all_reduce(torch.empty(0))
    dist.all_reduce(torch.ones(2, dtype=torch.bfloat16), op=dist.ReduceOp.AVG)
    dist.all_reduce(torch.tensor([rank]), op=dist.ReduceOp.MAX)


@program
def calls_on_the_group_itself(rank: int, world_size: int) -> None:
    group = dist.group.WORLD
    x = torch.ones(2)
    group.allreduce(x, op=dist.ReduceOp.MAX).wait()
    group.allreduce([x]).wait()
    group.broadcast(x, root=0).wait()
    group.allgather([torch.empty(2) for _ in range(world_size)], x).wait()
    group.reduce(x, root=0).wait()
    group.barrier().wait()


@program
def functional_collectives(rank: int, world_size: int) -> None:
    from torch.distributed import _functional_collectives as functional

    group = dist.group.WORLD
    gathered = functional.all_gather_single(torch.full((1,), float(rank)), 0, group)
    assert gathered.tolist() == [float(r) for r in range(world_size)]
    shard = functional.reduce_scatter_single(torch.ones(world_size), "sum", 0, group)
    assert shard.tolist() == [world_size]
    assert functional.all_reduce(torch.ones(1), "sum", group).item() == world_size
    assert functional.broadcast(torch.full((1,), float(rank)), 0, group).item() == 0


def run_programs(functions: list[Callable[[int, int], Any]]) -> None:
    for function in functions:
        function(dist.get_rank(), dist.get_world_size())


@pytest.mark.parametrize("world_size", [1, 4])
def test_legal_programs_one_after_the_other_raise_no_alarm(world_size: int) -> None:
    ledger = sandbox.launch(run_programs, PROGRAMS * 2, world_size=world_size).ledger
    assert all(event.call_site for event in ledger)


@pytest.mark.parametrize("world_size", [2, 3])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_a_legal_program_raises_no_alarm(function: Callable, world_size: int) -> None:
    sandbox.launch(run_programs, [function], world_size=world_size)


def test_events_are_those_of_the_call_as_issued() -> None:
    def issue_one_of_each() -> None:
        rank, ones = dist.get_rank(), torch.ones(2, 3)
        dist.all_reduce(ones, op=dist.ReduceOp.AVG)
        dist.all_gather_single(torch.empty(4, 3), ones)
        dist.reduce_scatter_single(torch.empty(1, 3), ones.bfloat16().float(), op=dist.ReduceOp.MAX)
        dist.broadcast(ones.bfloat16(), src=1)
        dist.reduce(ones, dst=1)
        dist.all_to_all_single(
            torch.empty(3), torch.ones(3), [2 - rank, 1 + rank], [2 - rank, 1 + rank]
        )
        dist.barrier()
        (dist.send if rank == 0 else dist.recv)(torch.ones(5), 1 - rank)

    events = list(sandbox.launch(issue_one_of_each, world_size=2).ledger.where(rank=0))
    seen = [(e.op, e.seq, e.shape, e.numel, e.dtype, e.nbytes, e.reduce_op, e.root) for e in events]
    assert seen == [
        (Op.ALL_REDUCE, 1, (2, 3), 6, "float32", 24, "AVG", None),
        (Op.ALL_GATHER, 2, (2, 3), 12, "float32", 48, None, None),
        (Op.REDUCE_SCATTER, 3, (2, 3), 6, "float32", 24, "MAX", None),
        (Op.BROADCAST, 4, (2, 3), 6, "bfloat16", 12, None, 1),
        (Op.REDUCE, 5, (2, 3), 6, "float32", 24, "SUM", 1),
        (Op.ALL_TO_ALL, 6, (3,), 3, "float32", 12, None, None),
        (Op.BARRIER, 7, (), 0, "", 0, None, None),
        (Op.SEND, 1, (5,), 5, "float32", 20, None, 1),
    ]
    assert events[5].parts == (2, 1)
    assert all(event.group == (0, 1) and not event.is_async for event in events)
    lines = [int(event.call_site.rpartition(":")[2]) for event in events if event.call_site]
    assert lines == sorted(set(lines))
    ends = [(event.start_s, event.end_s) for event in events]
    assert all(end is not None and 0 <= start <= end for start, end in ends)
