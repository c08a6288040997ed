"""Send and recv: rings, orders, tags, pipelines, and messages of another size."""

from __future__ import annotations

import torch
import torch.distributed as dist
from hangs.planted import mismatch, plant

from sandbox import Op

BIG = 1_000_000


@plant(
    None,
    "ranks 0, 1 wait for each other, all in send at",
    Op.SEND,
    {0: (1,), 1: (0,)},
    world_size=2,
)
def both_send_first(rank: int) -> None:
    other, received = 1 - rank, torch.empty(BIG)
    dist.send(torch.ones(BIG), other)  # culprit waits
    dist.recv(received, other)


@plant(None, "ranks 0-2 wait for each other, all in recv at", Op.RECV, {0: (2,), 1: (0,), 2: (1,)})
def all_receive_in_a_ring_first(rank: int) -> None:
    received = torch.empty(4)
    dist.recv(received, (rank - 1) % 3)  # culprit waits
    dist.send(torch.ones(4), (rank + 1) % 3)


@plant(None, "ranks 0-2 wait for each other, all in send at", Op.SEND, {0: (1,), 1: (2,), 2: (0,)})
def all_send_in_a_ring_first(rank: int) -> None:
    right = (rank + 1) % 3
    sending = dist.isend(torch.ones(4), right)  # culprit waits
    sending.wait()  # the line shown is that of the send
    dist.recv(torch.empty(4), (rank - 1) % 3)


@plant(
    1,
    "rank 1 never called send to rank 0: it finished after send at",
    Op.RECV,
    {0: (1,)},
    world_size=2,
)
def receives_one_more_than_was_sent(rank: int) -> None:
    for _ in range(3 if rank == 0 else 2):
        if rank == 0:
            dist.recv(torch.empty(4), 1)  # culprit waits
        else:
            dist.send(torch.ones(4), 0)


@plant(0, "ranks 1, 2 never called send to rank 0: they finished", Op.RECV, {0: (1, 2)})
def receives_from_anybody_once_too_often(rank: int) -> None:
    if rank != 0:
        dist.send(torch.ones(4), 0)
        return
    for _ in range(3):
        dist.recv(torch.empty(4))  # culprit waits


@plant(1, "rank 1 never called recv from rank 0: it finished.", Op.SEND, {0: (1,)})
def sends_to_one_that_has_left(rank: int) -> None:
    if rank == 0:
        dist.send(torch.ones(BIG), 1)  # culprit waits


@plant(1, "ranks 0, 1 wait for each other.", Op.RECV, {0: (1,), 1: (0,)}, world_size=2)
def uses_another_tag(rank: int) -> None:
    if rank == 0:
        dist.send(torch.ones(4), 1, tag=7)  # waits
    else:
        dist.recv(torch.empty(4), 0, tag=8)  # culprit waits


@plant(2, "rank 2 never called send to rank 1", Op.RECV, {1: (2,)})
def lacks_one_of_a_batch(rank: int) -> None:
    x = torch.ones(4)
    operations = []
    if rank == 1:
        operations = [dist.P2POp(dist.irecv, torch.empty(4), source) for source in (0, 2)]
    elif rank == 0:
        operations = [dist.P2POp(dist.isend, x, 1)]
    works = dist.batch_isend_irecv(operations) if operations else []  # culprit waits
    for work in works:
        work.wait()


@plant(1, "ranks 0, 1 wait for each other.", Op.SEND, {0: (1,), 1: (0,)})
def runs_1f1b_with_too_few_micro_batches(rank: int) -> None:
    """Written by hand: torch's Schedule1F1B refuses fewer micro-batches than stages."""
    num_stages, num_micro_batches, x = 3, 1, torch.ones(4)
    num_warmup = num_stages - 1 - rank  # lacks min(…, num_micro_batches)
    for _ in range(num_warmup):
        if rank > 0:
            dist.recv(x, rank - 1)
        dist.send(x, rank + 1)  # waits
    for _ in range(num_micro_batches - num_warmup):
        dist.recv(x, rank - 1)
        dist.send(x, rank - 1)
    for _ in range(num_warmup):
        dist.recv(x, rank + 1)
        if rank > 0:
            dist.send(x, rank - 1)  # culprit waits


@plant(0, "ranks 0, 1 wait for each other.", None, {0: (1,), 1: (0,), 2: (0,)})
def mixes_a_recv_with_a_collective(rank: int) -> None:
    if rank == 0:
        dist.recv(torch.empty(4), 1)  # culprit waits
    dist.all_reduce(torch.ones(4))  # waits
    if rank == 1:
        dist.send(torch.ones(4), 0)


@mismatch(0, "rank 0 sent 2 float32 where rank 1 expected 4 float32.", Op.SEND, world_size=2)
def sends_fewer_than_expected(rank: int) -> None:
    if rank == 0:
        dist.send(torch.ones(2), 1)  # culprit waits
    else:
        dist.recv(torch.empty(4), 0)  # waits


@mismatch(0, "rank 0 sent 6 float32 where rank 1 expected 4 float32.", Op.SEND, world_size=2)
def sends_more_than_expected(rank: int) -> None:
    if rank == 0:
        dist.send(torch.ones(6), 1)  # culprit waits
    else:
        dist.recv(torch.empty(4), 0)  # waits


@mismatch(0, "rank 0 sent 4 float32 where rank 1 expected 4 int32.", Op.SEND, world_size=2)
def sends_another_dtype(rank: int) -> None:
    if rank == 0:
        dist.send(torch.ones(4), 1)  # culprit waits
    else:
        dist.recv(torch.empty(4, dtype=torch.int32), 0)  # waits
