"""Send and recv: tags, orders, batches, any source, and sends that nobody waits for."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from legal.program import legal


@legal
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


@legal
def tags_out_of_order(rank: int, world_size: int) -> None:
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    if world_size == 1:
        return
    works = [dist.isend(torch.full((2,), float(tag)), right, tag=tag) for tag in (1, 2, 3)]
    for tag in (3, 1, 2):
        received = torch.empty(2)
        dist.recv(received, left, tag=tag)
        assert received.tolist() == [tag, tag]
    for work in reversed(works):
        work.wait()


@legal
def sends_before_receives_and_waits_after(rank: int, world_size: int) -> None:
    if world_size == 1:
        return
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    received = [torch.empty(1) for _ in range(3)]
    sending = [dist.isend(torch.full((1,), float(i)), right) for i in range(3)]
    receiving = [dist.irecv(x, left) for x in received]
    for work in receiving[::-1] + sending:
        work.wait()
    assert [x.item() for x in received] == [0, 1, 2]


@legal
def a_message_in_another_shape(rank: int, world_size: int) -> None:
    x = torch.zeros(2, 3)
    if rank == 0 and world_size > 1:
        dist.send(torch.arange(6.0), 1)
    elif rank == 1:
        dist.recv(x, 0)
        assert x.flatten().tolist() == [0, 1, 2, 3, 4, 5]


@legal
def sends_that_nobody_receives(rank: int, world_size: int) -> None:
    group = dist.new_group()
    if rank == 0 and world_size > 1:
        dist.isend(torch.ones(1), 1, group=group, tag=99)
    dist.barrier()


@legal
def receives_that_nobody_waits_for(rank: int, world_size: int) -> None:
    group = dist.new_group()
    if rank == 0 and world_size > 1:
        dist.irecv(torch.ones(1), 1, group=group, tag=98)
    dist.barrier()


@legal
def a_big_send_to_one_that_comes_late(rank: int, world_size: int) -> None:
    if world_size == 1:
        return
    if rank == 0:
        dist.send(torch.ones(500_000), 1)
    elif rank == 1:
        time.sleep(0.5)
        x = torch.empty(500_000)
        dist.recv(x, 0)
        assert x.sum().item() == 500_000


@legal
def any_source_among_named_ones(rank: int, world_size: int) -> None:
    """Rank 0 takes one from each, whoever comes first, then one from each by name."""
    if rank != 0:
        dist.send(torch.full((1,), 10.0 * rank), 0, tag=5)
        time.sleep(0.1)  # longer than a wait takes to be published
        dist.recv(torch.empty(1), 0, tag=6)
        dist.send(torch.full((1,), 10.0 * rank + 1), 0, tag=5)
        return
    x, taken = torch.empty(1), []
    for _ in range(world_size - 1):
        source = dist.recv(x, tag=5)
        taken.append((source, x.item()))
    for source in range(1, world_size):
        dist.send(x, source, tag=6)
        dist.recv(x, source, tag=5)
        taken.append((source, x.item()))
    expected = [(source, 10.0 * source + i) for source in range(1, world_size) for i in range(2)]
    assert sorted(taken) == expected


@legal
def many_messages_in_two_groups_at_once(rank: int, world_size: int) -> None:
    if world_size == 1:
        return
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    group, x = dist.new_group(), torch.empty(1)
    for i in range(20):
        works = [
            dist.isend(torch.full((1,), float(i)), right),
            dist.isend(torch.full((1,), -float(i)), right, group=group),
        ]
        dist.recv(x, left, group=group)
        assert x.item() == -i
        dist.recv(x, left)
        assert x.item() == i
        for work in works:
            work.wait()


@legal
def messages_around_collectives(rank: int, world_size: int) -> None:
    if world_size == 1:
        return
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    sending, x = dist.isend(torch.full((3,), 9.0), right), torch.ones(3)
    dist.all_reduce(x)
    received = torch.empty(3)
    dist.recv(received, left)
    sending.wait()
    assert x.tolist() == [world_size] * 3
    assert received.tolist() == [9] * 3
