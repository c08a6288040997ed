"""The programs that are timed: what each rank does, the same for us and for the peer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


def add_up() -> float:
    """One all_reduce."""
    import torch
    import torch.distributed as dist

    total = torch.tensor(float(dist.get_rank()))
    dist.all_reduce(total)
    return total.item()


def make_model(num_blocks: int) -> Any:
    """Return a small transformer, the same on every rank: 9 parameters a block, and 3 more."""
    from sandbox.toys import Transformer

    return Transformer(num_blocks=num_blocks)


class Trainer:
    """A small transformer under FSDP2, and its optimizer."""

    def __init__(self, mesh: DeviceMesh | None = None, num_blocks: int = 3) -> None:
        import torch
        from torch.distributed.fsdp import fully_shard

        self.model = make_model(num_blocks)
        for block in self.model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.tokens = torch.zeros(2, 16, dtype=torch.long)

    def step(self) -> float:
        """Train on the one batch; return the loss."""
        loss = self.model(self.tokens).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()


def train_fsdp2(num_blocks: int) -> float:
    """Three steps of FSDP2."""
    trainer = Trainer(num_blocks=num_blocks)
    return [trainer.step() for _ in range(3)][-1]


def train_zero(stage: int, num_blocks: int) -> float:
    """Three steps of DeepSpeed ZeRO at `stage`."""
    import deepspeed
    import torch

    model = make_model(num_blocks)
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
        "zero_optimization": {"stage": stage},
        "bf16": {"enabled": True},
    }
    engine, *_ = deepspeed.initialize(
        model=model, config=config, model_parameters=model.parameters()
    )
    for _ in range(3):
        loss = engine(torch.zeros(2, 16, dtype=torch.long)).float().square().mean()
        engine.backward(loss)
        engine.step()
    return loss.item()
