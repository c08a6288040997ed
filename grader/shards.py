"""What a rank holds of each tensor, as plain data, and what it should hold."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Placement
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

# What checkpoint_wrapper and torch.compile put into names.
WRAPPERS = ("_checkpoint_wrapped_module", "_orig_mod")


@dataclass(frozen=True)
class Shard:
    """One rank's part of one tensor: its values, where they belong, and the bytes behind them.

    `placements` and `mesh` (the mesh's ranks, as nested lists) are None for a plain tensor.
    """

    name: str
    shape: tuple[int, ...]
    placements: tuple[str, ...] | None
    mesh: list | None
    first_row: int
    local: Tensor
    storage_bytes: int


def shards_of(named_tensors: Iterable[tuple[str, Tensor | None]]) -> dict[str, Shard]:
    """Return the local part of each tensor by name, copied to the CPU; None is left out."""
    named = ((plain_name(name), tensor) for name, tensor in named_tensors if tensor is not None)
    return {name: _shard_of(name, tensor) for name, tensor in named}


def plain_name(name: str) -> str:
    """Return the name that a parameter or module had before torch wrapped modules around it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


@torch.no_grad()
def _shard_of(name: str, tensor: Tensor) -> Shard:
    if type(tensor) is not DTensor:  # a subclass may say anything of itself
        return Shard(name, tuple(tensor.shape), None, None, 0, _copy(tensor), _bytes(tensor))
    local = tensor.to_local()
    return Shard(
        name=name,
        shape=tuple(tensor.shape),
        placements=tuple(map(str, tensor.placements)),
        mesh=_ranks_of(tensor.device_mesh),
        first_row=_first_row(tensor.shape, tensor.device_mesh, tensor.placements),
        local=_copy(local),
        storage_bytes=_bytes(local),
    )


# Cached, for torch works both out in Python: longer than a toy's step takes.
@functools.cache
def _ranks_of(mesh: DeviceMesh) -> list:
    ranks: list = mesh.mesh.tolist()
    return ranks


@functools.cache
def _first_row(shape: torch.Size, mesh: DeviceMesh, placements: tuple[Placement, ...]) -> int:
    _, offset = compute_local_shape_and_global_offset(shape, mesh, placements)
    return offset[0] if offset else 0


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", copy=True)


def _bytes(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def chunk_rows(num_rows: int, rank: int, world_size: int) -> tuple[int, int]:
    """Return (first, stop) of the rows that torch.chunk gives `rank`: full shares first."""
    share = -(-num_rows // world_size)
    return min(rank * share, num_rows), min((rank + 1) * share, num_rows)


def padded_numel(shape: Sequence[int], world_size: int) -> int:
    """Return the elements of a parameter with dim 0 rounded up to a multiple of `world_size`."""
    num_rows, *rest = shape
    padded_rows = -(-num_rows // world_size) * world_size
    return padded_rows * torch.Size(rest).numel()


def gathered(model: nn.Module) -> dict[str, Tensor]:
    """Return every parameter of a DeepSpeed model whole, as a copy. Collective: all ranks."""
    import deepspeed

    with deepspeed.zero.GatheredParameters(list(model.parameters())):
        named = model.named_parameters()
        return {name: weight.detach().to("cpu", copy=True) for name, weight in named}
