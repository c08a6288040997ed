"""Collectives in unusual forms: shapes, lists, splits, roots, objects, refused calls."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from legal.program import legal


@legal
def other_shapes_of_equal_numel(rank: int, world_size: int) -> None:
    x = torch.ones(4) if rank % 2 else torch.ones(2, 2)
    dist.all_reduce(x)
    dist.broadcast(x, src=world_size - 1)
    assert x.flatten().tolist() == [world_size] * 4


@legal
def lists_off_the_root_are_none(rank: int, world_size: int) -> None:
    root = world_size - 1
    gathered = [torch.zeros(2) for _ in range(world_size)] if rank == root else None
    dist.gather(torch.full((2,), float(rank)), gathered, dst=root)
    part = torch.zeros(1)
    whole = [torch.full((1,), 10.0 * i) for i in range(world_size)] if rank == root else None
    dist.scatter(part, whole, src=root)
    assert part.item() == 10 * rank


@legal
def uneven_all_to_all_single(rank: int, world_size: int) -> None:
    # Rank i sends i + j rows to rank j: the matrix is symmetric, its rows differ.
    splits = [rank + j for j in range(world_size)]
    received = torch.empty(sum(splits), 2)
    dist.all_to_all_single(received, torch.full((sum(splits), 2), float(rank)), splits, splits)
    senders = torch.arange(world_size).repeat_interleave(torch.tensor(splits))
    assert torch.equal(received[:, 0], senders.float())


@legal
def one_sided_all_to_all_single(rank: int, world_size: int) -> None:
    # Everything to rank 0, so that sizes sent and expected differ on every rank.
    sends = [2] + [0] * (world_size - 1)
    takes = [2] * world_size if rank == 0 else [0] * world_size
    received = torch.empty(sum(takes))
    dist.all_to_all_single(received, torch.full((2,), float(rank)), takes, sends)
    assert received.tolist() == (
        [float(r) for r in range(world_size) for _ in "ab"] if rank == 0 else []
    )


@legal
def all_to_all_lists(rank: int, world_size: int) -> None:
    takes = [torch.empty(2) for _ in range(world_size)]
    dist.all_to_all(takes, [torch.full((2,), float(rank)) for _ in range(world_size)])
    assert [t.tolist() for t in takes] == [[j, j] for j in range(world_size)]


@legal
def uneven_reduce_scatter_lists(rank: int, world_size: int) -> None:
    shard = torch.empty(1 + rank)
    dist.reduce_scatter(shard, [torch.ones(1 + j) for j in range(world_size)])
    assert shard.tolist() == [world_size] * (1 + rank)


@legal
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


@legal
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


@legal
def barriers(rank: int, world_size: int) -> None:
    dist.barrier(async_op=True).wait()
    dist.monitored_barrier()
    dist.monitored_barrier(timeout=timedelta(seconds=20), wait_all_ranks=True)


@legal
def other_numbers(rank: int, world_size: int) -> None:
    z = torch.full((2,), 1 + 1j)
    dist.all_reduce(z)
    assert z.tolist() == [world_size * (1 + 1j)] * 2
    dist.all_reduce(torch.empty(0))
    dist.all_reduce(torch.ones(2, dtype=torch.bfloat16), op=dist.ReduceOp.AVG)
    dist.all_reduce(torch.tensor([rank]), op=dist.ReduceOp.MAX)


@legal
def calls_on_the_group_itself(rank: int, world_size: int) -> None:
    group = dist.group.WORLD
    x = torch.ones(2)
    group.allreduce(x, op=dist.ReduceOp.MAX).wait()
    group.allreduce([x]).wait()
    group.broadcast(x, root=0).wait()
    group.allgather([torch.empty(2) for _ in range(world_size)], x).wait()
    group.reduce(x, root=0).wait()
    group.barrier().wait()


@legal
def functional_collectives(rank: int, world_size: int) -> None:
    from torch.distributed import _functional_collectives as functional

    group = dist.group.WORLD
    gathered = functional.all_gather_single(torch.full((1,), float(rank)), 0, group)
    assert gathered.tolist() == [float(r) for r in range(world_size)]
    shard = functional.reduce_scatter_single(torch.ones(world_size), "sum", 0, group)
    assert shard.tolist() == [world_size]
    assert functional.all_reduce(torch.ones(1), "sum", group).item() == world_size
    assert functional.broadcast(torch.full((1,), float(rank)), 0, group).item() == 0


@legal
def an_invalid_call_that_all_catch(rank: int, world_size: int) -> None:
    outputs = [torch.empty(1 + j) for j in range(world_size)]  # gloo wants equal sizes
    with contextlib.suppress(RuntimeError):  # of one rank, it is legal
        dist.all_gather(outputs, torch.ones(1 + rank))
    dist.barrier()


@legal
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
