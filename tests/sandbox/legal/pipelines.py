"""Pipeline schedules of torch.distributed.pipelining: a stage per rank, and two per rank."""

from __future__ import annotations

import torch
from legal.program import legal
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
)

DIM = 4
NUM_MICRO_BATCHES = 6
BATCH = torch.linspace(0, 1, 12 * DIM).reshape(12, DIM)


def make_layer(index: int) -> nn.Module:
    torch.manual_seed(index)
    return nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh())


def loss_of(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).square().mean()


def run(kind: type, rank: int, world_size: int, num_layers_per_rank: int = 1) -> None:
    """Train one step, and compare with the layers applied one after the other."""
    num_layers = num_layers_per_rank * world_size
    mine = range(rank, num_layers, world_size)
    stages = [
        PipelineStage(make_layer(index), index, num_layers, torch.device("cpu")) for index in mine
    ]
    given = stages if num_layers_per_rank > 1 else stages[0]
    schedule = kind(given, n_microbatches=NUM_MICRO_BATCHES, loss_fn=loss_of)
    inputs = (BATCH,) if rank == 0 else ()
    is_last = rank == world_size - 1
    output = schedule.step(*inputs, target=torch.zeros_like(BATCH) if is_last else None)
    if is_last:
        expected = BATCH
        for index in range(num_layers):
            expected = make_layer(index)(expected)
        torch.testing.assert_close(output, expected)


@legal
def gpipe(rank: int, world_size: int) -> None:
    run(ScheduleGPipe, rank, world_size)


@legal
def one_forward_one_backward(rank: int, world_size: int) -> None:
    run(Schedule1F1B, rank, world_size)


@legal
def interleaved_stages(rank: int, world_size: int) -> None:
    run(ScheduleInterleaved1F1B, rank, world_size, num_layers_per_rank=2)
