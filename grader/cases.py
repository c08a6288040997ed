"""The cases that checks go through: world sizes 1 to 4, and models chosen for traps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard

import sandbox
from sandbox import toys
from sandbox.failure import count_ranks

SAMPLES_PER_RANK = 2
FIXED_BATCH_SIZE = 12  # where it must not follow the number of ranks
LEARNING_RATE = 1e-2


def describe_model(options: Mapping[str, Any]) -> str:
    """Return "Transformer(dim=20, num_blocks=3)"."""
    return f"Transformer({', '.join(f'{name}={value}' for name, value in options.items())})"


@dataclass(frozen=True)
class Case:
    """One model on `world_size` ranks; `frozen` names parameters that are not trained."""

    world_size: int
    model: dict[str, Any] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    data_seed: int = 0
    dtype: torch.dtype = torch.float64

    @property
    def text(self) -> str:
        """Return "3 ranks, Transformer(dim=20, num_blocks=3), a frozen weight", for a verdict."""
        more = ["a frozen weight"] if self.frozen else []
        if self.dtype is not torch.float64:
            more.append(str(self.dtype).removeprefix("torch."))
        return ", ".join([count_ranks(self.world_size), describe_model(self.model), *more])

    def new_model(self, seed: int = 0) -> toys.Transformer:
        """Return the whole model, the same on every rank."""
        model = toys.Transformer(**self.model, seed=seed, dtype=self.dtype)
        for name in self.frozen:
            model.get_parameter(name).requires_grad_(False)
        return model

    def tokens(self, step: int, rank: int) -> Tensor:
        """Return this rank's samples of a step; no sample comes twice."""
        first = (step * self.world_size + rank) * SAMPLES_PER_RANK
        sample_ids = range(first, first + SAMPLES_PER_RANK)
        vocab_size = self.model.get("vocab_size", 61)
        return toys.token_samples(sample_ids, vocab_size=vocab_size, seed=self.data_seed)

    def global_tokens(self, step: int) -> Tensor:
        """Return the whole batch of a step: all ranks' samples."""
        return torch.cat([self.tokens(step, rank) for rank in range(self.world_size)])

    def fixed_batch(self, step: int) -> Tensor:
        """Return the whole batch of a step, of the same 12 samples on any number of ranks."""
        return fixed_batch(step, self.model.get("vocab_size", 61), self.data_seed)


def fixed_batch(step: int, vocab_size: int = 61, seed: int = 0) -> Tensor:
    """Return the 12 samples of a step: world sizes 1, 2, 3, 4, 6 and 12 divide them."""
    sample_ids = range(step * FIXED_BATCH_SIZE, (step + 1) * FIXED_BATCH_SIZE)
    return toys.token_samples(sample_ids, vocab_size=vocab_size, seed=seed)


def share_of(batch: Tensor) -> Tensor:
    """Return this rank's equal part of a batch, on its device."""
    return batch.chunk(dist.get_world_size())[dist.get_rank()].to(sandbox.device())


TIED = {"tied": True, "num_blocks": 2}
SMALL = {"vocab_size": 13, "dim": 6, "num_heads": 3, "hidden_dim": 7, "num_blocks": 1}
UNEVEN = {"vocab_size": 53, "dim": 20, "hidden_dim": 31, "num_blocks": 3}
SHALLOW = {**UNEVEN, "num_blocks": 1}  # enough where the number of blocks decides nothing
FROZEN = ("blocks.0.attention.key.weight",)

# dim 6 on 4 ranks: 2, 2, 2 and 0 rows. 53, 20 and 31 rows on 3 ranks: nothing divides.
CASES = (
    Case(world_size=1, model=TIED, data_seed=1),
    Case(world_size=2, model=TIED, data_seed=2),
    Case(world_size=3, model=UNEVEN, frozen=FROZEN, data_seed=3),
    Case(world_size=4, model=SMALL, data_seed=4),
)
FLOAT32 = Case(world_size=2, model={"hidden_dim": 44, "num_blocks": 2}, dtype=torch.float32)


def new_mesh() -> DeviceMesh:
    """Return the mesh of all ranks. Collective: every rank must call this."""
    return init_device_mesh(sandbox.device().type, (dist.get_world_size(),))


def new_sharded(
    case: Case, seed: int = 0, lr: float = LEARNING_RATE
) -> tuple[nn.Module, torch.optim.AdamW]:
    """Return a sharded model and its optimizer, for checks of what comes after sharding."""
    model, mesh = case.new_model(seed), new_mesh()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=lr)
