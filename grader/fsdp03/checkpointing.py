"""The ways of checkpointing that answers are compared with: torch's own wrappers, applied here."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from grader.fsdp03.recompute_run import Apply
from sandbox import toys

PROJECTIONS = ("mm",)
MATMULS = ("mm", "bmm")  # bmm: attention's scores, and what they weigh


def keep_all(model: toys.Transformer) -> toys.Transformer:
    """Checkpoint nothing."""
    return model


def checkpoint_every(model: toys.Transformer, every: int = 1) -> toys.Transformer:
    """Checkpoint the blocks 0, every, 2 * every, …"""
    for number in range(0, len(model.blocks), every):
        model.blocks[number] = checkpoint_wrapper(model.blocks[number])
    return model


def keep_operators(model: toys.Transformer, kept: tuple[str, ...]) -> toys.Transformer:
    """Checkpoint every block, except for the results of these operators of torch.ops.aten."""
    contexts = functools.partial(
        create_selective_checkpoint_contexts, functools.partial(_decide, kept)
    )
    for number, block in enumerate(model.blocks):
        model.blocks[number] = checkpoint_wrapper(block, context_fn=contexts)
    return model


def _decide(kept: tuple[str, ...], _: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    is_kept = op in [getattr(torch.ops.aten, name).default for name in kept]
    return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE


def with_blocks(model: toys.Transformer, num_blocks: int, apply: Apply) -> nn.Module:
    """Keep the first `num_blocks` blocks of a model, and apply a way of checkpointing to them."""
    model.blocks = model.blocks[:num_blocks]
    return apply(model)
