"""Training with torch's own wrappers: DDP, FSDP, tensor parallel, checkpoints, Join."""

from __future__ import annotations

import copy
import shutil
import tempfile

import torch
import torch.distributed as dist
from legal.program import legal
from torch import nn
from torch.distributed import checkpoint
from torch.distributed.algorithms.join import Join
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

DIM = 5  # divides by no world size but 1


def make_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, 1, bias=False))


def batch_of(rank: int) -> torch.Tensor:
    return torch.linspace(0, 1, 2 * DIM).reshape(2, DIM) + rank


def mean_gradient(world_size: int) -> torch.Tensor:
    """The gradient of the last weight, of one process on the whole batch."""
    model = make_model()
    model(torch.cat([batch_of(rank) for rank in range(world_size)])).mean().backward()
    return model[2].weight.grad


@legal
def ddp_with_unused_parameters(rank: int, world_size: int) -> None:
    class Router(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(DIM, 1) for _ in range(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.experts[rank % 2](x)

    model = DistributedDataParallel(Router(), find_unused_parameters=True)
    for _ in range(2):
        model(batch_of(rank)).mean().backward()
    assert model.module.experts[0].weight.grad is not None


@legal
def ddp_that_accumulates_without_sync(rank: int, world_size: int) -> None:
    model = DistributedDataParallel(make_model())
    with model.no_sync():
        model(batch_of(rank)).mean().backward()
    model(batch_of(rank)).mean().backward()
    torch.testing.assert_close(model.module[2].weight.grad, 2 * mean_gradient(world_size))


@legal
def ddp_on_a_group_of_its_own_beside_metrics(rank: int, world_size: int) -> None:
    model = DistributedDataParallel(make_model(), process_group=dist.new_group())
    loss = model(batch_of(rank)).mean()
    reported = loss.detach().clone()
    work = dist.all_reduce(reported, async_op=True)
    loss.backward()
    work.wait()
    torch.testing.assert_close(model.module[2].weight.grad, mean_gradient(world_size))


@legal
def ddp_joined_on_uneven_batches(rank: int, world_size: int) -> None:
    model = DistributedDataParallel(make_model())
    with Join([model]):
        for _ in range(1 + rank):
            model(batch_of(rank)).mean().backward()
    dist.barrier()


@legal
def an_optimizer_whose_states_are_sharded(rank: int, world_size: int) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DistributedDataParallel(make_model())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    before = model.module[2].weight.detach().clone()
    model(batch_of(rank)).mean().backward()
    optimizer.step()
    torch.testing.assert_close(model.module[2].weight, before - 0.1 * mean_gradient(world_size))


@legal
def fsdp1(rank: int, world_size: int) -> None:
    if world_size == 1:
        return  # it warns that it shards nothing
    model = FullyShardedDataParallel(make_model(), device_id=torch.device("cpu"))
    model(batch_of(rank)).mean().backward()
    model.clip_grad_norm_(1.0)


@legal
def fsdp2_with_one_rank_behind(rank: int, world_size: int) -> None:
    model = make_model()
    fully_shard(model[0])
    fully_shard(model)
    if rank == 0:
        sum(i * i for i in range(1_000_000))
    model(batch_of(rank)).mean().backward()
    gradient = model[2].weight.grad.full_tensor()
    torch.testing.assert_close(gradient, mean_gradient(world_size))


@legal
def fsdp2_that_accumulates_without_sync(rank: int, world_size: int) -> None:
    model = fully_shard(make_model())
    for is_last in (False, True):
        model.set_requires_gradient_sync(is_last)
        model(batch_of(rank)).mean().backward()
    gradient = model[2].weight.grad.full_tensor()
    torch.testing.assert_close(gradient, 2 * mean_gradient(world_size))


@legal
def fsdp2_on_a_mesh_of_two_axes(rank: int, world_size: int) -> None:
    mesh = init_device_mesh("cpu", (1, world_size), mesh_dim_names=("replicate", "shard"))
    model = fully_shard(make_model(), mesh=mesh)
    model(batch_of(rank)).mean().backward()
    gradient = model[2].weight.grad.full_tensor()
    torch.testing.assert_close(gradient, mean_gradient(world_size))


@legal
def a_full_state_dict_on_all_ranks(rank: int, world_size: int) -> None:
    model = fully_shard(make_model())
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_model_state_dict(model, options=options)
    assert len(state) == (3 if rank == 0 else 0)


@legal
def tensor_parallel(rank: int, world_size: int) -> None:
    torch.manual_seed(0)
    whole = nn.Sequential(nn.Linear(DIM, 12), nn.ReLU(), nn.Linear(12, DIM))
    model = copy.deepcopy(whole)
    mesh = init_device_mesh("cpu", (world_size,))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    output = model(batch_of(0))
    torch.testing.assert_close(output, whole(batch_of(0)))
    output.sum().backward()


@legal
def an_uneven_tensor_distributed_and_gathered(rank: int, world_size: int) -> None:
    mesh = init_device_mesh("cpu", (world_size,))
    whole = torch.arange(2.0 * DIM).reshape(DIM, 2)
    sharded = distribute_tensor(whole, mesh, [Shard(0)])
    assert torch.equal(sharded.full_tensor(), whole)


def shared_folder(rank: int) -> str:
    folder = [tempfile.mkdtemp() if rank == 0 else ""]
    dist.broadcast_object_list(folder, src=0)
    return folder[0]


def remove_together(folder: str, rank: int) -> None:
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder)


@legal
def a_checkpoint_saved_and_loaded(rank: int, world_size: int) -> None:
    model, folder = fully_shard(make_model()), shared_folder(rank)
    checkpoint.save(model.state_dict(), checkpoint_id=folder)
    expected = model[0].weight.full_tensor()
    with torch.no_grad():
        model[0].weight.zero_()
    checkpoint.load(model.state_dict(), checkpoint_id=folder)
    assert torch.equal(model[0].weight.full_tensor(), expected)
    remove_together(folder, rank)


@legal
def a_checkpoint_saved_while_training_goes_on(rank: int, world_size: int) -> None:
    model, folder = fully_shard(make_model()), shared_folder(rank)
    saving = checkpoint.async_save(
        model.state_dict(), checkpoint_id=folder, process_group=dist.new_group()
    )
    for _ in range(3):
        model(batch_of(rank)).mean().backward()
    saving.result()
    remove_together(folder, rank)
