"""DeepSpeed ZeRO, which makes groups of its own beside the default one."""

from __future__ import annotations

import torch
import torch.distributed as dist
from legal.program import legal
from torch import nn


def train(stage: int) -> None:
    import deepspeed

    model = nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 1))
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
        "zero_optimization": {"stage": stage},
        "bf16": {"enabled": True},
    }
    engine, *_ = deepspeed.initialize(
        model=model, config=config, model_parameters=model.parameters()
    )
    for _ in range(2):
        loss = engine(torch.ones(1, 5, dtype=torch.bfloat16)).float().sum()
        engine.backward(loss)
        engine.step()
    assert loss.isfinite()


@legal
def zero_1_beside_a_side_group(rank: int, world_size: int) -> None:
    group = dist.new_group()
    train(1)
    dist.barrier(group=group)


@legal
def zero_3(rank: int, world_size: int) -> None:
    train(3)
