"""DeepSpeed's ZeRO-3: every forward gathers parameters."""

from __future__ import annotations

import torch
from hangs.planted import plant
from torch import nn


@plant(0, "only rank 0 called", None, {0: (1, 2)}, timeout_s=60.0)
def runs_a_zero_3_forward_on_rank_0(rank: int) -> None:
    import deepspeed

    model = nn.Linear(4, 4)
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
        "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
        "bf16": {"enabled": True},
    }
    engine, *_ = deepspeed.initialize(
        model=model, config=config, model_parameters=model.parameters()
    )
    if rank == 0:
        engine(torch.ones(1, 4, dtype=torch.bfloat16))  # culprit waits
