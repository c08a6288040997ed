"""What DeepSpeed keeps beside the parameters that its modules show: partitions, buckets, sums."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from sandbox.memory.category import Category
from sandbox.memory.claim import Claim

# Where its optimizers keep gradients: stage 1 and 2, stage 3, and stage 0 in bf16.
_GRADIENTS = (
    "averaged_gradients",
    "all_grad_tensors",
    "grad_partitions_flat_buffer",
    "fp32_groups_gradients_flat",
)


def claims(modules: list[nn.Module]) -> Iterator[Claim]:
    """Yield the claims of ZeRO's partitions, and of what the engines' optimizers keep.

    The fp32 copies of the weights are the business of the torch optimizer that updates them.
    """
    kind = engine_class()
    engines = [m for m in modules if kind and isinstance(m, kind)]
    for engine in engines:
        yield from _partitions(engine)
        yield from _in_optimizer(getattr(engine, "optimizer", None))


def engine_class() -> type | None:
    """Return DeepSpeed's class of engines; None while that is not imported, or only in part."""
    return getattr(sys.modules.get("deepspeed.runtime.engine"), "DeepSpeedEngine", None)


def _partitions(engine: Any) -> Iterator[Claim]:
    """Yield ZeRO-3's shards, and the parameters that are gathered just now.

    While an engine is being made, its parameters have no shards yet.
    """
    module = getattr(engine, "module", None)
    parameters = list(module.parameters()) if module is not None else []
    parameters = [p for p in parameters if getattr(p, "ds_tensor", None) is not None]
    for parameter in parameters:
        shard = parameter.ds_tensor
        end = shard.numel() * (engine.global_rank + 1)
        num_padded = min(max(end - parameter.ds_numel, 0), shard.numel())
        yield Claim(Category.PARAMETERS, shard, num_padded)
    for parameter in parameters:
        yield Claim(Category.UNSHARDED, parameter)


def _in_optimizer(optimizer: Any) -> Iterator[Claim]:
    for name in _GRADIENTS:
        for gradient in _tensors_in(getattr(optimizer, name, None)):
            yield Claim(Category.GRADIENTS, gradient)
    for bucket in getattr(optimizer, "ipg_buckets", {}).values():
        for buffer in _tensors_in(bucket.buffer):
            yield Claim(Category.BUFFERS, buffer)


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _tensors_in(entry)
