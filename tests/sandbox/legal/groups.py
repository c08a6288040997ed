"""Groups that overlap, nest, or are made by some; ranks that leave early or come late."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from legal.program import legal
from torch.distributed.device_mesh import init_device_mesh


@legal
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


@legal
def groups_made_by_their_members_alone(rank: int, world_size: int) -> None:
    group = dist.new_group([rank], use_local_synchronization=True)
    dist.all_reduce(torch.ones(1), group=group)


@legal
def groups_of_one_that_each_makes_for_itself(rank: int, world_size: int) -> None:
    dist.all_reduce(torch.ones(1), group=dist.new_group([rank]))


@legal
def pairs_made_by_their_members_alone(rank: int, world_size: int) -> None:
    dist.destroy_process_group()  # torch names these groups by how many a rank has, too
    dist.init_process_group()
    first = rank // 2 * 2
    pair = list(range(first, min(first + 2, world_size)))
    x = torch.ones(1)
    dist.all_reduce(x, group=dist.new_group(pair, use_local_synchronization=True))
    assert x.item() == len(pair)


@legal
def groups_of_others_in_another_order(rank: int, world_size: int) -> None:
    """The last rank is in neither, and misnames both: nobody meets it there."""
    orders = [[[0], [0, 1]], [[0, 1], [0]]]
    if world_size > 2:
        for members in orders[rank == world_size - 1]:
            group = dist.new_group(members)
        if rank < 2:
            dist.barrier(group)


@legal
def numbers_of_groups_that_begin_again(rank: int, world_size: int) -> None:
    """Rank 0 makes one more for itself, then all meet anew: numbers are alike again."""
    if rank == 0:
        dist.new_group([0])
    dist.destroy_process_group()
    dist.init_process_group()
    for members in ([0], list(range(world_size))):
        dist.new_group(members)
    dist.barrier()


@legal
def subgroups_by_torch(rank: int, world_size: int) -> None:
    mine, _ = dist.new_subgroups(group_size=1 if world_size % 2 else 2)
    dist.barrier(mine)


@legal
def a_rank_that_leaves_early(rank: int, world_size: int) -> None:
    rest = dist.new_group(list(range(1, world_size))) if world_size > 1 else None
    for _ in range(20 if rank else 0):
        dist.all_reduce(torch.ones(1), group=rest)


@legal
def a_rank_that_computes_long(rank: int, world_size: int) -> None:
    if rank == 0:
        sum(i * i for i in range(1_000_000))
    dist.barrier()


@legal
def overlapping_groups_in_one_order(rank: int, world_size: int) -> None:
    pairs = [sorted({i, (i + 1) % world_size}) for i in range(world_size)]
    groups = [dist.new_group(pair) for pair in pairs]
    for pair, group in zip(pairs, groups, strict=True):
        if rank in pair:
            x = torch.ones(1)
            dist.all_reduce(x, group=group)
            assert x.item() == len(pair)


@legal
def a_mesh_and_its_slices(rank: int, world_size: int) -> None:
    mesh = init_device_mesh("cpu", (1, world_size), mesh_dim_names=("outer", "inner"))
    x = torch.ones(2)
    dist.all_reduce(x, group=mesh["inner"].get_group())
    dist.all_reduce(x, group=mesh.get_group("outer"))
    assert x.tolist() == [world_size] * 2


@legal
def a_group_that_is_destroyed_and_made_again(rank: int, world_size: int) -> None:
    for _ in range(2):
        group = dist.new_group()
        dist.barrier(group=group)
        dist.destroy_process_group(group)


@legal
def a_rank_that_sleeps_long(rank: int, world_size: int) -> None:
    if rank == 0:
        time.sleep(0.7)
    dist.barrier()


@legal
def a_chain_of_groups_behind_one_sleeper(rank: int, world_size: int) -> None:
    """All but the sleeper wait, each for its neighbour, and none for ever."""
    groups = [dist.new_group([i, i + 1]) for i in range(world_size - 1)]
    if rank == 0:
        time.sleep(0.5)
    for i, group in enumerate(groups):
        if rank in (i, i + 1):
            dist.barrier(group=group)
