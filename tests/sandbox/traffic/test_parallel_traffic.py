"""What tensor and pipeline parallelism send equals the papers' counts."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from sandbox import Ledger, Op

BATCH, LENGTH, DIM = 2, 3, 8
FLOAT_BYTES = 4


class Layer(nn.Module):
    """A transformer layer as tensor parallelism cuts it: two pairs of linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(DIM, 12)
        self.output = nn.Linear(12, DIM)
        self.up = nn.Linear(DIM, 12)
        self.down = nn.Linear(12, DIM)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.output(self.query(x).relu())
        return x + self.down(self.up(x).relu())


def train_tensor_parallel(num_layers: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = nn.Sequential(*(Layer() for _ in range(num_layers)))
    for layer in model:
        columns = {"query": ColwiseParallel(), "up": ColwiseParallel()}
        rows = {"output": RowwiseParallel(), "down": RowwiseParallel()}
        parallelize_module(layer, mesh, columns | rows)
    # The first layer's input needs a gradient, as if an embedding lay below it.
    model(torch.ones(BATCH, LENGTH, DIM, requires_grad=True)).sum().backward()


@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_tensor_parallel_all_reduces_activations(num_layers: int, world_size: int) -> None:
    ledger = sandbox.launch(train_tensor_parallel, num_layers, world_size=world_size).ledger
    if world_size == 1:
        assert ledger.sent_bytes(0) == 0
        return
    # Shoeybi et al., "Megatron-LM", sec. 3: two all-reduces per layer forward, two backward.
    activation = BATCH * LENGTH * DIM
    for rank in range(world_size):
        assert ledger.count(Op.ALL_REDUCE, rank) == 4 * num_layers
        ring = 2 * activation * FLOAT_BYTES * (world_size - 1) / world_size
        sent = ledger.where(op=Op.ALL_REDUCE).sent_bytes(rank)  # cutting the weights apart
        assert sent == pytest.approx(4 * num_layers * ring, rel=1e-12)


def run_pipeline(schedule: str, num_microbatches: int) -> None:
    from torch.distributed import pipelining

    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    stage = pipelining.PipelineStage(nn.Linear(DIM, DIM), rank, world_size, device)
    make = getattr(pipelining, schedule)
    steps = make(stage, n_microbatches=num_microbatches, loss_fn=nn.functional.mse_loss)
    inputs = torch.ones(BATCH * num_microbatches, DIM)
    if rank == 0:
        steps.step(inputs)
    elif rank == world_size - 1:
        steps.step(target=torch.zeros_like(inputs), losses=[])
    else:
        steps.step()


def microbatch_messages(ledger: Ledger, op: Op, rank: int, peer: int) -> int:
    """How many micro-batches went from or to `peer`; torch sends their shapes as objects before."""
    return len(ledger.where(lambda e: e.root == peer and e.numel == BATCH * DIM, op=op, rank=rank))


@pytest.mark.parametrize("schedule", ["Schedule1F1B", "ScheduleGPipe"])
@pytest.mark.parametrize(("world_size", "num_microbatches"), [(2, 2), (3, 4), (4, 5)])
def test_a_pipeline_sends_each_micro_batch_once_each_way(
    schedule: str, world_size: int, num_microbatches: int
) -> None:
    # Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters", sec.
    # 2.2: between neighbours one activation forward and one gradient backward per micro-batch.
    ledger = sandbox.launch(run_pipeline, schedule, num_microbatches, world_size=world_size).ledger
    for rank in range(world_size - 1):
        for source, target in ((rank, rank + 1), (rank + 1, rank)):
            sent = microbatch_messages(ledger, Op.SEND, source, target)
            received = microbatch_messages(ledger, Op.RECV, target, source)
            assert sent == received == num_microbatches


def use_objects() -> None:
    rank, world_size = dist.get_rank(), dist.get_world_size()
    objects = [None] * world_size
    dist.all_gather_object(objects, {"rank": rank})
    dist.broadcast_object_list(objects, src=0)
    gathered = [None] * world_size if rank == 0 else None
    dist.gather_object(rank, gathered)
    dist.scatter_object_list([None], list(range(world_size)) if rank == 0 else None)


@pytest.mark.parametrize("world_size", [2, 3])
def test_object_collectives_are_seen_as_their_sizes_and_bytes(world_size: int) -> None:
    ledger = sandbox.launch(use_objects, world_size=world_size).ledger
    for rank in range(world_size):
        counts = [
            ledger.count(op, rank) for op in (Op.ALL_GATHER, Op.BROADCAST, Op.GATHER, Op.SCATTER)
        ]
        # Sizes first, then bytes: gather_object learns the sizes by an all_gather, and
        # scatter_object_list sends the largest size by a broadcast and each size by a scatter.
        assert counts == [3, 3, 1, 2]
