"""What FSDP2, FSDP1 and DDP keep beside the parameters that their modules show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

from sandbox.memory.category import Category
from sandbox.memory.claim import Claim


def claims(modules: list[nn.Module]) -> Iterator[Claim]:
    """Yield the claims of all FSDP units among the modules, shards before gathered parameters."""
    parameters = list(_fsdp2_parameters(modules))
    flat_parameters = list(_fsdp1_flat_parameters(modules))
    for parameter in parameters:
        yield Claim(Category.PARAMETERS, parameter.sharded_param)
    for flat in flat_parameters:
        yield _shard_in_fsdp1(Category.PARAMETERS, flat._local_shard, flat)
    for parameter in parameters:
        yield from _unsharded_in_fsdp2(parameter)
    for flat in flat_parameters:
        yield from _unsharded_in_fsdp1(flat)


def unsharded_parameters(modules: list[nn.Module]) -> set[int]:
    """Return the ids of what FSDP2's modules show as their parameters while these are gathered."""
    return {id(getattr(p, "_unsharded_param", None)) for p in _fsdp2_parameters(modules)}


def _fsdp2_parameters(modules: list[nn.Module]) -> Iterator[Any]:
    for module in modules:
        if isinstance(module, FSDPModule):
            for group in module._get_fsdp_state()._fsdp_param_groups:
                yield from group.fsdp_params


def _unsharded_in_fsdp2(parameter: Any) -> Iterator[Claim]:
    """Yield the gathered parameter, and its gradient before the reduce_scatter."""
    for tensor in (*parameter.all_gather_outputs, *parameter._unsharded_inner_tensors):
        yield Claim(Category.UNSHARDED, tensor)
    to_smaller_mesh = getattr(parameter, "_sharded_post_forward_param_data", None)
    if to_smaller_mesh is not None:
        yield Claim(Category.UNSHARDED, to_smaller_mesh)
    whole = getattr(parameter, "_unsharded_param", None)
    for gradient in (whole is not None and whole.grad, parameter.unsharded_accumulated_grad):
        if isinstance(gradient, Tensor):
            yield Claim(Category.GRADIENTS, gradient)


def _fsdp1_flat_parameters(modules: list[nn.Module]) -> Iterator[Any]:
    """Yield the flat parameters that are sharded; others are parameters like any."""
    for module in modules:
        if isinstance(module, FullyShardedDataParallel) and module._handle is not None:
            flat = module._handle.flat_param
            if hasattr(flat, "_full_param_padded"):
                yield flat


def _unsharded_in_fsdp1(flat: Any) -> Iterator[Claim]:
    for name in ("_full_param_padded", "_full_prec_full_param_padded"):
        if (whole := getattr(flat, name, None)) is not None:
            yield Claim(Category.UNSHARDED, whole)
    shard_to_send = getattr(flat, "_mp_shard", None)  # in the low precision
    if shard_to_send is not None:
        yield Claim(Category.BUFFERS, shard_to_send)
    for gradient in (flat.grad, getattr(flat, "_saved_grad_shard", None)):
        if gradient is not None:
            yield _shard_in_fsdp1(Category.GRADIENTS, gradient, flat)


def _shard_in_fsdp1(category: Category, tensor: Tensor, flat: Any) -> Claim:
    """Return the claim of a flat shard: padded at its end, and between parameters to align them.

    A gradient that was not reduced, inside no_sync(), is whole.
    """
    if tensor.shape != flat._local_shard.shape:
        return Claim(category, tensor)
    used_numel = sum(info.numel_in_shard or 0 for info in flat._shard_param_infos)
    return Claim(category, tensor, tensor.numel() - used_numel)
