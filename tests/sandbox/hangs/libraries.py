"""Calls of libraries that are collectives, though their names do not say so."""

from __future__ import annotations

import tempfile

import torch
import torch.distributed as dist
from hangs.planted import plant
from torch import nn
from torch.distributed import checkpoint
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor

from sandbox import Op


@plant(0, "only rank 0 called collective #1, all_gather, of ranks 0-2", Op.ALL_GATHER, {0: (1, 2)})
def gathers_a_state_dict_on_rank_0(rank: int) -> None:
    model = fully_shard(nn.Linear(4, 4))
    if rank == 0:
        options = StateDictOptions(full_state_dict=True)
        get_model_state_dict(model, options=options)  # culprit waits


@plant(0, "only rank 0 called collective #", Op.ALL_GATHER, {0: (1, 2)})
def prints_a_full_tensor_on_rank_0(rank: int) -> None:
    mesh = init_device_mesh("cpu", (3,))
    weight = distribute_tensor(torch.ones(5, 2), mesh, [Shard(0)])
    if rank == 0:
        print(weight.full_tensor())  # culprit waits


@plant(0, "only rank 0 called", None, {0: (1, 2)})
def saves_a_checkpoint_on_rank_0(rank: int) -> None:
    model = fully_shard(nn.Linear(4, 4))
    if rank == 0:
        with tempfile.TemporaryDirectory() as folder:
            checkpoint.save(model.state_dict(), checkpoint_id=folder)  # culprit waits


@plant(0, "only rank 0 called", None, {0: (1, 2)})
def wraps_with_ddp_on_rank_0(rank: int) -> None:
    model = nn.Linear(4, 4)
    if rank == 0:
        nn.parallel.DistributedDataParallel(model)  # culprit waits


@plant(1, "rank 1 never called collective #", Op.ALL_REDUCE, {0: (1,), 2: (1,)})
def clips_gradients_on_some_ranks(rank: int) -> None:
    model = fully_shard(nn.Linear(4, 4))
    model(torch.ones(1, 4)).sum().backward()
    if rank != 1:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # waits


@plant(2, "rank 2 never called collective #", Op.SCATTER, {0: (2,)})
def distributes_a_tensor_on_some_ranks(rank: int) -> None:
    mesh = init_device_mesh("cpu", (3,))
    dist.barrier()
    if rank != 2:
        distribute_tensor(torch.ones(6, 2), mesh, [Shard(0)])  # waits
