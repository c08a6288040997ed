"""How torch passes tensors, options, roots and reduce ops to a process group.

They come in several forms (one tensor or a list, options or a bare reduce op; ProcessGroup in
torch/_C/_distributed_c10d.pyi lists them), so options are told by their type.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import AllgatherOptions, AllToAllOptions, BarrierOptions

from sandbox.observing.record import MAX_SIZES, Sizes


class Members(NamedTuple):
    """The ranks of a group in its order, and the one this process is."""

    ranks: tuple[int, ...]
    rank: int


Values = Sequence[Any]

# Sets, as isinstance() is slow for torch's classes.
_WITH_REDUCE_OP = {
    dist.AllreduceOptions,
    dist.AllreduceCoalescedOptions,
    dist.ReduceOptions,
    dist.ReduceScatterOptions,
}
_WITH_ROOT = {dist.BroadcastOptions, dist.ReduceOptions, dist.GatherOptions, dist.ScatterOptions}
_OPTIONS = _WITH_REDUCE_OP | _WITH_ROOT | {AllgatherOptions, AllToAllOptions, BarrierOptions}
_NO_TIMEOUT = timedelta(milliseconds=-1)
_REDUCE_OPS: dict[Any, str] = {
    getattr(dist.ReduceOp, name): name
    for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
}
_get_type = operator.attrgetter("op")  # of a ReduceOp; torch's type stubs lack it


def get_options(values: Values) -> tuple[bool, float | None]:
    """Return whether the caller means to wait later, and this one call's timeout in seconds."""
    for value in reversed(values):
        if type(value) in _OPTIONS:
            timeout = value.timeout
            return value.asyncOp, None if timeout == _NO_TIMEOUT else timeout.total_seconds()
        if isinstance(value, timedelta):
            return True, value.total_seconds()
    return True, None


def get_device_type(values: Values) -> str:
    """Return the kind of device on which the operation works."""
    for value in values:
        while isinstance(value, list | tuple) and value:
            value = value[0]
        if isinstance(value, Tensor):
            return value.device.type
        if isinstance(value, BarrierOptions) and value.device is not None:
            return value.device.type
    return "cpu"


@functools.cache
def describe_dtype(dtype: torch.dtype) -> tuple[str, int]:
    """Return name and bytes per element."""
    return str(dtype).removeprefix("torch."), dtype.itemsize


def list_tensors(value: Any) -> Sequence[Tensor]:
    """Return a list, be it of one tensor."""
    return [value] if isinstance(value, Tensor) else value


def count_numel(tensors: Iterable[Tensor]) -> int:
    """Return the elements of all tensors together."""
    numel = 0
    for tensor in tensors:
        numel += tensor.numel()
    return numel


def list_numels(tensors: Iterable[Tensor]) -> list[int]:
    """Return the elements of each tensor."""
    return [tensor.numel() for tensor in tensors]


def sizes_by_member(lists: Any) -> Sizes:
    """Return the elements per member of [tensor of member 0, …], or of a list of such lists."""
    if isinstance(lists[0], Tensor):
        return shorten_sizes(list_numels(lists))
    return shorten_sizes([count_numel(tensors) for tensors in zip(*lists, strict=True)])


def sizes_of_split(tensor: Tensor, rows: Sequence[int], members: Members) -> Sizes:
    """Return the elements per member of a tensor cut along dim 0, evenly if no rows are given."""
    if not rows:
        return tensor.numel() // len(members.ranks)
    row = tensor.numel() // max(1, tensor.shape[0])
    return shorten_sizes([row * count for count in rows])


def shorten_sizes(sizes: list[int]) -> Sizes:
    """Return one number for equal sizes, and nothing for more than a record can hold."""
    if sizes.count(sizes[0]) == len(sizes):
        return sizes[0]
    return tuple(sizes) if len(sizes) <= MAX_SIZES else None


def total(sizes: Sizes, members: Members) -> int:
    """Return the elements of all members together."""
    if isinstance(sizes, int):
        return sizes * len(members.ranks)
    return sum(sizes or ())


def get_reduce_op(values: Values) -> str:
    """Return the reduction, SUM where none is passed."""
    for value in values:
        if type(value) in _WITH_REDUCE_OP:
            return _REDUCE_OPS[_get_type(value.reduceOp)]
        if isinstance(value, dist.ReduceOp.RedOpType):
            return _REDUCE_OPS[value]
        if isinstance(value, dist.ReduceOp):
            return _REDUCE_OPS[_get_type(value)]
    return "SUM"


def get_root(values: Values, members: Members) -> int:
    """Return the global rank of the root."""
    for value in values:
        if type(value) in _WITH_ROOT:
            return members.ranks[value.rootRank]
        if isinstance(value, int):
            return members.ranks[value]
    return members.ranks[0]


def get_peer(peer: int, members: Members) -> int:
    """Return the global rank of the other one of a send or recv; a RuntimeError, as gloo's own.

    gloo itself would read beyond its list of ranks, and end the process.
    """
    if not 0 <= peer < len(members.ranks):
        raise RuntimeError(
            f"there is no rank {peer} in the group, expected 0 to {len(members.ranks) - 1}."
        )
    return members.ranks[peer]
