"""Which rank holds what of each parameter, as plain data, computed from meshes and placements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor._utils import _compute_local_shape_and_global_offset

from sandbox.pictures.sharding import Layout, Part


def layouts_of(model: nn.Module) -> list[Layout]:
    """Return the layout of every parameter, those that are alike together."""
    alike: dict[tuple, Layout] = {}
    for layout in _layouts(model):
        what = layout.shape, layout.how, layout.unit, layout.slots, layout.parts
        known = alike.get(what)
        alike[what] = replace(known, names=known.names + layout.names) if known else layout
    return list(alike.values())


def layout_of(name: str, tensor: DTensor) -> Layout:
    """Return the layout of a DTensor. Every rank knows it: its mesh and placements say it all."""
    mesh, placements = tensor.device_mesh, tuple(tensor.placements)
    shape, sizes_of_mesh = tuple(tensor.shape), tuple(mesh.mesh.shape)
    padded = _padded_axis(placements)
    parts = []
    share = 0
    for rank, coordinate in _members(mesh):
        sizes, offsets = _compute_local_shape_and_global_offset(
            shape, sizes_of_mesh, list(coordinate), placements
        )
        ends = [(first, first + size) for first, size in zip(offsets, sizes, strict=True)]
        padding = 0
        if padded is not None:
            share = math.ceil(shape[0] / sizes_of_mesh[padded])
            first = coordinate[padded] * share
            padding = share - sizes[0]
            ends[0] = first, first + sizes[0]
        parts.append(
            Part(rank, ends[0] if ends else (0, 1), ends[1] if shape[1:] else None, padding)
        )
    slots = (shape[0] if shape else 1) if padded is None else share * sizes_of_mesh[padded]
    axes = mesh.mesh_dim_names or ()
    where = f" on axes {', '.join(axes)}" if len(axes) > 1 else ""
    how = f"rows by {', '.join(map(_describe, placements))}{where}"
    return Layout((name,), shape, how, "rows", slots, tuple(sorted(parts, key=lambda p: p.rank)))


def _layouts(model: nn.Module) -> Iterator[Layout]:
    flat_parameters = [
        (name, module._handle.flat_param)
        for name, module in model.named_modules()
        if isinstance(module, FullyShardedDataParallel) and module._handle is not None
    ]
    in_flat: set[int] = set()
    for name, flat in flat_parameters:
        in_flat |= {id(flat), *map(id, flat._params or ())}
        yield _in_fsdp1(name, flat)
    for name, parameter in model.named_parameters():
        if id(parameter) in in_flat:
            continue
        if isinstance(parameter, DTensor):
            yield layout_of(name, parameter)
        elif hasattr(parameter, "ds_tensor"):
            yield _in_zero3(name, parameter)
        else:
            yield _whole(name, parameter)


def _in_fsdp1(name: str, flat: Any) -> Layout:
    """Return the layout of a unit's flat parameter: chunks of its elements."""
    group = flat._fsdp_process_group if hasattr(flat, "_fsdp_process_group") else None
    ranks = dist.get_process_group_ranks(group)
    numel = flat._unpadded_unsharded_size.numel()
    parts = _chunks(numel, math.ceil(numel / len(ranks)), ranks)
    unit = name.replace("_fsdp_wrapped_module", "").replace("..", ".").strip(".") or "(root)"
    how = f"elements by FSDP1, {len(flat._fqns)} parameters in one"
    return Layout((f"{unit}.flat_param",), (numel,), how, "elements", _slots(parts), parts)


def _in_zero3(name: str, parameter: Any) -> Layout:
    """Return the layout of a parameter that ZeRO-3 cuts, flattened, into equal partitions."""
    ranks = dist.get_process_group_ranks(parameter.ds_process_group)
    parts = _chunks(parameter.ds_numel, parameter.ds_tensor.ds_numel, ranks)
    how = "elements by ZeRO-3" + (", kept once gathered" if parameter.ds_persist else "")
    return Layout((name,), tuple(parameter.ds_shape), how, "elements", _slots(parts), parts)


def _whole(name: str, parameter: Tensor) -> Layout:
    shape = tuple(parameter.shape)
    num_rows = shape[0] if shape else 1
    ranks = range(dist.get_world_size() if dist.is_initialized() else 1)
    columns = (0, shape[1]) if shape[1:] else None
    parts = tuple(Part(rank, (0, num_rows), columns, 0) for rank in ranks)
    return Layout((name,), shape, "not sharded", "rows", num_rows, parts)


def _chunks(numel: int, share: int, ranks: Sequence[int]) -> tuple[Part, ...]:
    parts = []
    for place, rank in enumerate(ranks):
        first = place * share
        stop = max(first, min(numel, first + share))
        parts.append(Part(rank, (first, stop), None, first + share - stop))
    return tuple(parts)


def _slots(parts: Sequence[Part]) -> int:
    return max(part.rows[1] + part.padding for part in parts)


def _padded_axis(placements: Sequence[Any]) -> int | None:
    """Return the one axis of the mesh that shards dim 0 evenly padded; with two, none is."""
    axes = [n for n, placement in enumerate(placements) if getattr(placement, "dim", None) == 0]
    is_plain = len(axes) == 1 and type(placements[axes[0]]) is Shard
    return axes[0] if is_plain else None


def _members(mesh: DeviceMesh) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each rank and its place in the mesh; of a slice, the ranks of the other slices too."""
    root = mesh._get_root_mesh()
    names, all_names = mesh.mesh_dim_names or (), root.mesh_dim_names or ()
    if mesh is root or not names or not set(names) <= set(all_names):
        root, axes = mesh, list(range(mesh.ndim))
    else:
        axes = [all_names.index(name) for name in names]
    for place in itertools.product(*map(range, root.mesh.shape)):
        yield int(root.mesh[place]), tuple(place[axis] for axis in axes)


def _describe(placement: Any) -> str:
    """Return a placement in torch's own words: "Shard(0)", "Replicate()"."""
    dim = getattr(placement, "dim", None)
    return f"{type(placement).__name__.lstrip('_')}({'' if dim is None else dim})"
