"""Groups made or used in another order, and keys of a store that nobody sets."""

from __future__ import annotations

import torch
import torch.distributed as dist
from hangs.planted import mismatch, plant
from torch.distributed.device_mesh import init_device_mesh

from sandbox import Op


# Groups of the same number have the same name in torch, so that strangers meet.
@mismatch(
    1,
    "rank 1 called new_group([0, 1, 2]) where ranks 0, 2 called new_group([0, 1]) (call #1 of",
    Op.NEW_GROUP,
)
def makes_groups_in_another_order(rank: int) -> None:
    ranks = [[0, 1], [0, 1, 2]]
    if rank == 1:
        ranks.reverse()
    for members in ranks:
        dist.new_group(members)  # culprit waits


@mismatch(
    2,
    "rank 2 called new_group([0, 1, 2]) where ranks 0, 1 called new_group([0, 1]) (call #1 of",
    Op.NEW_GROUP,
)
def skips_a_group_of_others(rank: int) -> None:
    # A rank that is no member must call it too. Rank 2 may meet the others in the wrong group, and
    # finish.
    if rank != 2:
        dist.new_group([0, 1])  # waits
    dist.new_group()  # culprit waits


@mismatch(
    None,
    "ranks 0-3 called new_group with different members (call #1).\n  ranks 0, 1: new_group([0, 1])",
    Op.NEW_GROUP,
    world_size=4,
)
def makes_its_own_pair_alone(rank: int) -> None:
    pair = dist.new_group([rank // 2 * 2, rank // 2 * 2 + 1])  # culprit waits
    dist.all_reduce(torch.ones(1), group=pair)


@mismatch(1, "where ranks 0, 2 called new_group([0, 1])", Op.NEW_GROUP, world_size=3)
def names_other_members_after_a_group_of_all(rank: int) -> None:
    dist.new_group()
    dist.destroy_process_group()
    dist.init_process_group()
    dist.new_group([0, 1] if rank != 1 else [1, 2])  # culprit waits


@plant(
    1,
    "rank 1 skipped new_group([0, 1]), which ranks 0, 2 called at",
    Op.NEW_GROUP,
    {0: (1,)},
)
def makes_a_group_on_some_ranks(rank: int) -> None:
    if rank != 1:
        dist.new_group([0, 1])  # waits


@plant(
    1,
    "rank 1 skipped new_group([0, 1]), or called in another order: rank 0 called it at",
    None,
    {0: (1,), 1: (0,), 2: (0,)},
)
def makes_a_group_on_one_rank_and_goes_on(rank: int) -> None:
    if rank == 0:
        dist.new_group([0, 1])  # waits
    dist.all_reduce(torch.ones(1))  # culprit waits


@plant(0, "only rank 0 called new_group([0, 1]) at", Op.NEW_GROUP, {0: (1,)})
def makes_a_group_on_one_rank(rank: int) -> None:
    if rank == 0:
        dist.new_group([0, 1])  # culprit waits


@plant(1, "ranks 1, 2 skipped new_group([0, 1]), or", Op.NEW_GROUP, {0: (1,)})
def takes_another_ones_group_for_its_own(rank: int) -> None:
    """Torch lets rank 1's only group meet rank 0's first."""
    if rank == 0:
        dist.new_group([0, 1])
    dist.new_group([0, 1])  # culprit waits


@plant(
    3,
    "rank 3 skipped new_group([0, 2]), which ranks 0-2 called at",
    Op.NEW_GROUP,
    {0: (1,), 1: (3,), 2: (3,)},
    world_size=4,
)
def makes_a_mesh_on_some_ranks(rank: int) -> None:
    if rank != 3:
        init_device_mesh("cpu", (2, 2))  # waits


@plant(2, "ranks 0-2 wait for each other.", Op.ALL_REDUCE, {0: (2,), 1: (2,), 2: (0, 1)})
def locks_two_groups_crosswise(rank: int) -> None:
    groups = [dist.new_group(), dist.new_group()]
    if rank == 2:
        groups.reverse()
    for group in groups:
        dist.all_reduce(torch.ones(4), group=group)  # culprit waits


@plant(0, "ranks 0, 1 wait for each other.", Op.ALL_REDUCE, {0: (1,), 1: (0,), 2: (0,)})
def uses_another_group(rank: int) -> None:
    pair = dist.new_group([0, 1])
    group = pair if rank == 0 else None
    dist.all_reduce(torch.ones(4), group=group)  # culprit waits


@plant(
    0,
    "ranks 1, 2 never set the key of store.get('address'): they finished",
    Op.STORE_GET,
    {0: (1, 2)},
)
def waits_for_a_key_that_nobody_sets(rank: int) -> None:
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        store.get("address")  # culprit waits


@plant(
    1,
    "rank 1 never set the key of store.wait('ready'): it finished after",
    Op.STORE_WAIT,
    {0: (1, 2), 2: (0, 1)},
)
def forgets_to_set_a_key(rank: int) -> None:
    port = [0]
    if rank == 0:
        server = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
        port = [server.port]
    dist.broadcast_object_list(port, src=0)
    store = server if rank == 0 else dist.TCPStore("localhost", port[0], is_master=False)
    if rank != 1:
        store.wait(["ready"])  # waits


@plant(
    None,
    "ranks 0, 1 wait for each other, all in store.get at",
    Op.STORE_GET,
    {0: (1,), 1: (0,)},
    world_size=2,
)
def waits_for_each_others_key(rank: int) -> None:
    store = dist.PrefixStore("mine", dist.distributed_c10d._get_default_store())
    store.get(f"from {1 - rank}")  # culprit waits
    store.set(f"from {rank}", "done")


@plant(1, "ranks 0, 1 wait for each other.", Op.BARRIER, {0: (1,), 1: (0,)}, world_size=2)
def sets_a_key_after_the_barrier(rank: int) -> None:
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        store.get("address")  # waits
    dist.barrier()  # culprit waits
    if rank == 1:
        store.set("address", "here")
