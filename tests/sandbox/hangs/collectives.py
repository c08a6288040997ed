"""Plain collectives that some ranks skip, or call in another way than the rest."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
from hangs.planted import mismatch, plant

from sandbox import Op


def all_reduce(**kwargs: object) -> None:
    dist.all_reduce(torch.ones(4), **kwargs)


@plant(
    2,
    "rank 2 never called collective #2, all_reduce, of ranks 0-2: it finished after all_reduce at",
    Op.ALL_REDUCE,
    {0: (2,), 1: (2,)},
)
def skips_a_collective(rank: int) -> None:
    dist.all_reduce(torch.ones(4))
    if rank != 2:
        dist.all_reduce(torch.ones(4))  # waits


@plant(
    0,
    "only rank 0 called collective #2, all_gather, of ranks 0-2; ranks 1, 2 finished without it.",
    Op.ALL_GATHER,
    {0: (1, 2)},
)
def gathers_alone(rank: int) -> None:
    dist.barrier()
    if rank == 0:
        dist.all_gather_single(torch.empty(12), torch.ones(4))  # culprit waits


@plant(
    1,
    "rank 1 never called collective #1, barrier, of ranks 0-2: it finished.",
    Op.BARRIER,
    {0: (1,), 2: (1,)},
)
def misses_a_barrier(rank: int) -> None:
    if rank == 1:
        torch.ones(3).sum()
    else:
        dist.barrier()  # waits


@plant(
    2,
    "rank 2 never called collective #1, monitored_barrier, of ranks 0-2",
    Op.MONITORED_BARRIER,
    {0: (2,), 1: (2,)},
)
def misses_a_monitored_barrier(rank: int) -> None:
    if rank != 2:
        dist.monitored_barrier()  # waits


@plant(
    1,
    "rank 1 never called collective #1, all_gather, of ranks 0-2",
    Op.ALL_GATHER,
    {0: (1,), 2: (1,)},
)
def gathers_objects_on_some_ranks(rank: int) -> None:
    metrics = [None] * 3
    if rank != 1:
        dist.all_gather_object(metrics, {"loss": 0.5})  # waits


@plant(0, "only rank 0 called collective #1, all_reduce, of ranks 0-2", Op.ALL_REDUCE, {0: (1, 2)})
def reduces_in_a_thread(rank: int) -> None:
    def log_loss() -> None:
        dist.all_reduce(torch.ones(1))  # culprit waits

    if rank == 0:
        threading.Thread(target=log_loss).start()


@plant(
    1,
    "rank 1 never called collective #2, all_reduce, of ranks 0-2",
    Op.ALL_REDUCE,
    {0: (1,), 2: (1,)},
)
def leaves_an_idle_worker_of_a_pool(rank: int) -> None:
    pool = ThreadPoolExecutor(1)  # as an asynchronous save does; it must not hide the deadlock
    pool.submit(dist.barrier).result()
    if rank != 1:
        dist.all_reduce(torch.ones(1))  # waits


@mismatch(2, "rank 2 called broadcast where ranks 0, 1 called all_reduce", Op.BROADCAST)
def calls_in_another_order(rank: int) -> None:
    x = torch.ones(4)
    if rank == 2:
        dist.broadcast(x, src=0)  # culprit waits
        dist.all_reduce(x)
    else:
        dist.all_reduce(x)  # waits
        dist.broadcast(x, src=0)


@mismatch(0, "rank 0 called all_gather where ranks 1, 2 called all_reduce", Op.ALL_GATHER)
def skips_one_and_goes_on(rank: int) -> None:
    if rank != 0:
        dist.all_reduce(torch.ones(4))  # waits
    dist.all_gather_single(torch.empty(12), torch.ones(4))  # culprit waits


@mismatch(
    1,
    "rank 1 called collective #1, all_reduce, of ranks 0-2 with another number of elements than",
    Op.ALL_REDUCE,
)
def holds_another_shape(rank: int) -> None:
    x = torch.ones(5 if rank == 1 else 4)
    dist.all_reduce(x)  # culprit waits


@mismatch(
    2,
    "rank 2 called collective #1, all_reduce, of ranks 0-2 with another dtype than",
    Op.ALL_REDUCE,
)
def holds_another_dtype(rank: int) -> None:
    x = torch.ones(4, dtype=torch.int32 if rank == 2 else torch.float32)
    dist.all_reduce(x)  # culprit waits


@mismatch(
    1,
    "rank 1 called collective #1, all_reduce, of ranks 0-2 with another reduction than ranks 0, 2",
    Op.ALL_REDUCE,
)
def reduces_otherwise(rank: int) -> None:
    op = dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM
    dist.all_reduce(torch.ones(4), op=op)  # culprit waits


@mismatch(
    1, "rank 1 called collective #1, broadcast, of ranks 0-2 with another root than", Op.BROADCAST
)
def names_another_root(rank: int) -> None:
    dist.broadcast(torch.ones(4), src=rank % 2)  # culprit waits


@mismatch(
    None,
    "ranks 0-2 disagree on the root of collective #1, broadcast, of ranks 0-2: 0, 1 and 2.",
    Op.BROADCAST,
)
def broadcasts_from_itself(rank: int) -> None:
    dist.broadcast(torch.ones(4), src=rank)  # culprit waits


@mismatch(
    1,
    "rank 1 and rank 0 disagree on the sizes of collective #1, all_to_all, of ranks 0-2",
    Op.ALL_TO_ALL,
)
def splits_otherwise(rank: int) -> None:
    sends = [2, 1, 0] if rank == 1 else [1, 1, 1]
    dist.all_to_all_single(torch.empty(3), torch.ones(3), [1, 1, 1], sends)  # culprit waits
