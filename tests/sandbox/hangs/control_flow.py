"""Ranks whose control flow differs: batches, branches, exceptions, exits."""

from __future__ import annotations

import os
import signal

import torch
import torch.distributed as dist
from hangs.planted import plant
from torch import nn
from torch.distributed.fsdp import fully_shard

import sandbox
from sandbox import Op


@plant(0, "only rank 0 called collective #", Op.ALL_REDUCE, {0: (1, 2)})
def trains_on_uneven_batches_with_ddp(rank: int) -> None:
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
    for _ in range(3 if rank == 0 else 2):
        model(torch.ones(2, 4)).sum().backward()  # culprit waits


@plant(
    2,
    "rank 2 never called collective #3, all_gather, of ranks 0-2: it finished after reduce_scatter",
    Op.ALL_GATHER,
    {0: (2,), 1: (2,)},
)
def trains_on_uneven_batches_with_fsdp2(rank: int) -> None:
    model = fully_shard(nn.Linear(4, 4))
    for _ in range(1 if rank == 2 else 2):
        loss = model(torch.ones(2, 4)).sum()  # waits
        loss.backward()


@plant(
    1,
    "rank 1 never called collective #1, all_reduce, of ranks 0-2: it finished.",
    Op.ALL_REDUCE,
    {0: (1,), 2: (1,)},
)
def branches_on_a_local_loss(rank: int) -> None:
    loss = torch.tensor(float("nan") if rank == 1 else 0.5)
    if not loss.isnan():  # each rank looks at its own
        dist.all_reduce(loss)  # waits


@plant(
    2,
    "rank 2 never called collective #1, all_reduce, of ranks 0-2: it finished.",
    Op.ALL_REDUCE,
    {0: (2,), 1: (2,)},
)
def swallows_an_exception(rank: int) -> None:
    try:
        if rank == 2:
            raise OSError("no such sample")
        dist.all_reduce(torch.ones(4))  # waits
    except OSError:
        pass


@plant(
    1,
    "rank 1 never called collective #3, reduce_scatter, of ranks 0-2",
    Op.REDUCE_SCATTER,
    {0: (1,), 2: (1,)},
)
def returns_early(rank: int) -> None:
    for step in range(5):
        if rank == 1 and step == 2:
            return
        dist.reduce_scatter_single(torch.empty(1), torch.ones(3))  # waits


@plant(
    0,
    "rank 0 never called collective #3, all_reduce, of ranks 0-2",
    Op.ALL_REDUCE,
    {1: (0,), 2: (0,)},
)
def stops_early_as_decided_on_rank_0(rank: int) -> None:
    for step in range(5):
        should_stop = step == 2 if rank == 0 else False  # never told to the others
        if should_stop:
            break
        dist.all_reduce(torch.ones(4))  # waits


@plant(
    2,
    "rank 2 never called collective #2, all_gather, of ranks 0-2",
    Op.ALL_GATHER,
    {0: (2,), 1: (2,)},
)
def skips_an_fsdp_unit_for_some_data(rank: int) -> None:
    blocks = nn.ModuleList(fully_shard(nn.Linear(4, 4)) for _ in range(2))
    x = blocks[0](torch.ones(1, 4))
    if rank != 2:  # a router that sends no token of rank 2 to this expert
        blocks[1](x)  # waits


@plant(1, "rank 1 exited with code 7 before the call was over.", error=sandbox.RankDiedError)
def exits_at_once(rank: int) -> None:
    if rank == 1:
        os._exit(7)
    dist.barrier()


@plant(None, "rank 1: stopped (SIGSTOP)", error=sandbox.RankTimeoutError, timeout_s=1.0)
def is_stopped(rank: int) -> None:
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    dist.barrier()


@plant(1, "rank 1: running", error=sandbox.RankTimeoutError, timeout_s=1.0)
def loops_for_ever(rank: int) -> None:
    while rank == 1:  # culprit
        pass  # culprit
    dist.barrier()
