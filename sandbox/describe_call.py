"""What a collective moves, read from the arguments with which torch calls a process group.

The arguments arrive in several forms (one tensor or a list, options or a bare reduce op; ProcessGroup
in torch/_C/_distributed_c10d.pyi lists them), so options are told by their type.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import AllgatherOptions, AllToAllOptions, BarrierOptions

from sandbox.ledger import Op
from sandbox.record import MAX_SIZES, Call, Sizes


class Members(NamedTuple):
    """The ranks of a group in its order, and the one this process is."""

    ranks: tuple[int, ...]
    rank: int


Values = Sequence[Any]
Describe = Callable[[Values, Members], Call]

_WITH_REDUCE_OP = (
    dist.AllreduceOptions,
    dist.AllreduceCoalescedOptions,
    dist.ReduceOptions,
    dist.ReduceScatterOptions,
)
_WITH_ROOT = (dist.BroadcastOptions, dist.ReduceOptions, dist.GatherOptions, dist.ScatterOptions)
_OPTIONS = (
    *_WITH_REDUCE_OP,
    *_WITH_ROOT,
    AllgatherOptions,
    AllToAllOptions,
    BarrierOptions,
)
_REDUCE_OPS: dict[Any, str] = {
    getattr(dist.ReduceOp, name): name
    for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
}


def _all_reduce(values: Values, _: Members) -> Call:
    return _same_everywhere(Op.ALL_REDUCE, values[0], _reduce_op(values), None)


def _broadcast(values: Values, members: Members) -> Call:
    return _same_everywhere(Op.BROADCAST, values[0], None, _root(values, members))


def _reduce(values: Values, members: Members) -> Call:
    return _same_everywhere(Op.REDUCE, values[0], _reduce_op(values), _root(values, members))


def _all_gather(values: Values, members: Members) -> Call:
    inputs, takes = _list(values[1]), _sizes_by_member(values[0])
    return _call(Op.ALL_GATHER, inputs, _total(takes, members), gives=_numel(inputs), takes=takes)


def _all_gather_single(values: Values, members: Members) -> Call:
    numel, inputs = _numel(_list(values[0])), _list(values[1])
    takes = numel // len(members.ranks)
    return _call(Op.ALL_GATHER, inputs, numel, gives=_numel(inputs), takes=takes)


def _all_gather_coalesced(values: Values, members: Members) -> Call:
    inputs = _list(values[1])
    numel = _numel(inputs)
    return _call(Op.ALL_GATHER, inputs, numel * len(members.ranks), gives=numel, takes=numel)


def _reduce_scatter(values: Values, members: Members) -> Call:
    inputs, gives = values[1], _sizes_by_member(values[1])
    first = inputs[0] if isinstance(inputs[0], Tensor) else inputs[0][0]
    return _call(
        Op.REDUCE_SCATTER,
        [first],
        _total(gives, members),
        reduce_op=_reduce_op(values),
        gives=gives,
        takes=_numel(_list(values[0])),
    )


def _reduce_scatter_single(values: Values, members: Members) -> Call:
    takes, inputs = _numel(_list(values[0])), _list(values[1])
    numel = _numel(inputs)
    return _call(
        Op.REDUCE_SCATTER,
        inputs,
        numel,
        reduce_op=_reduce_op(values),
        gives=numel // len(members.ranks),
        takes=takes,
    )


def _gather(values: Values, members: Members) -> Call:
    inputs, root = _list(values[1]), _root(values, members)
    gives = _numel(inputs)
    # A list anywhere but at the root is ignored, by torch and here.
    takes = _sizes_by_member(values[0]) if root == members.rank else None
    numel = _total(gives if takes is None else takes, members)
    return _call(Op.GATHER, inputs, numel, root=root, gives=gives, takes=takes)


def _scatter(values: Values, members: Members) -> Call:
    outputs, root = _list(values[0]), _root(values, members)
    takes = _numel(outputs)
    gives = _sizes_by_member(values[1]) if root == members.rank else None
    numel = _total(takes if gives is None else gives, members)
    return _call(Op.SCATTER, outputs, numel, root=root, gives=gives, takes=takes)


def _all_to_all_single(values: Values, members: Members) -> Call:
    outputs, inputs, takes_rows, gives_rows = values[:4]
    gives = _split(inputs, gives_rows, members)
    takes = _split(outputs, takes_rows, members)
    return _call(Op.ALL_TO_ALL, [inputs], inputs.numel(), gives=gives, takes=takes)


def _all_to_all(values: Values, _: Members) -> Call:
    outputs, inputs = values[:2]
    gives, takes = _sizes(_numels(inputs)), _sizes(_numels(outputs))
    return _call(Op.ALL_TO_ALL, inputs, _numel(inputs), gives=gives, takes=takes)


def _barrier(_: Values, __: Members) -> Call:
    return without_tensor(Op.BARRIER)


def _send(values: Values, members: Members) -> Call:
    tensors, peer, tag = values[:3]
    return _call(Op.SEND, tensors, _numel(tensors), root=members.ranks[peer], tag=tag)


def _recv(values: Values, members: Members) -> Call:
    tensors, peer, tag = values[:3]
    return _call(Op.RECV, tensors, _numel(tensors), root=members.ranks[peer], tag=tag)


def _recv_anysource(values: Values, _: Members) -> Call:
    tensors, tag = values[:2]
    return _call(Op.RECV, tensors, _numel(tensors), tag=tag)


# Every method of ProcessGroup that returns a Work, deprecated names of the same included.
METHODS: dict[str, Describe] = {
    "allreduce": _all_reduce,
    "allreduce_coalesced": _all_reduce,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "allgather": _all_gather,
    "all_gather_single": _all_gather_single,
    "_allgather_base": _all_gather_single,
    "allgather_coalesced": _all_gather_coalesced,
    "all_gather_single_coalesced": _all_gather_single,
    "allgather_into_tensor_coalesced": _all_gather_single,
    "gather": _gather,
    "scatter": _scatter,
    "reduce_scatter": _reduce_scatter,
    "reduce_scatter_single": _reduce_scatter_single,
    "_reduce_scatter_base": _reduce_scatter_single,
    "reduce_scatter_single_coalesced": _reduce_scatter_single,
    "reduce_scatter_tensor_coalesced": _reduce_scatter_single,
    "all_to_all_single": _all_to_all_single,
    "alltoall_base": _all_to_all_single,
    "alltoall": _all_to_all,
    "barrier": _barrier,
    "send": _send,
    "recv": _recv,
    "recv_anysource": _recv_anysource,
}


def without_tensor(op: Op) -> Call:
    """Describe an operation that moves no tensor of the learner's."""
    return Call(op.value, (), 0, "", 0)


def get_options(values: Values) -> tuple[bool, float | None]:
    """Return whether the caller means to wait later, and the timeout in seconds of this one call."""
    for value in reversed(values):
        if isinstance(value, timedelta):
            return True, value.total_seconds()
        if isinstance(value, _OPTIONS):
            timeout_s = value.timeout.total_seconds()
            return value.asyncOp, timeout_s if timeout_s > 0 else None  # -1 ms: not set
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


def merge(calls: list[Call]) -> Call:
    """Return the one call that stands for a coalesced block of them."""
    ops = {call.op for call in calls}
    numel = sum(call.numel for call in calls)
    return calls[0]._replace(
        op=calls[0].op if len(ops) == 1 else Op.COALESCED.value,
        numel=numel,
        gives=numel,
        takes=numel,
    )


def _same_everywhere(op: Op, tensors: Any, reduce_op: str | None, root: int | None) -> Call:
    """Describe an operation in which every rank holds the whole tensor."""
    tensors = _list(tensors)
    numel = _numel(tensors)
    return _call(op, tensors, numel, reduce_op=reduce_op, root=root, gives=numel, takes=numel)


def _call(op: Op, tensors: Sequence[Tensor], numel: int, **fields: Any) -> Call:
    first = tensors[0]
    dtype, itemsize = _dtype(first.dtype)
    return Call(op.value, tuple(first.shape), numel, dtype, itemsize, **fields)


@functools.cache
def _dtype(dtype: torch.dtype) -> tuple[str, int]:
    return str(dtype).removeprefix("torch."), dtype.itemsize


def _list(value: Any) -> Sequence[Tensor]:
    return [value] if isinstance(value, Tensor) else value


def _numel(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def _numels(tensors: Iterable[Tensor]) -> list[int]:
    return [tensor.numel() for tensor in tensors]


def _sizes_by_member(lists: Any) -> Sizes:
    """Return the elements per member of [tensor of member 0, …], or of a list of such lists."""
    if isinstance(lists[0], Tensor):
        return _sizes(_numels(lists))
    return _sizes([_numel(tensors) for tensors in zip(*lists, strict=True)])


def _split(tensor: Tensor, rows: Sequence[int], members: Members) -> Sizes:
    """Return the elements per member of a tensor cut along dim 0, evenly where no rows are given."""
    if not rows:
        return tensor.numel() // len(members.ranks)
    row = tensor.numel() // max(1, tensor.shape[0])
    return _sizes([row * count for count in rows])


def _sizes(sizes: list[int]) -> Sizes:
    if sizes.count(sizes[0]) == len(sizes):
        return sizes[0]
    return tuple(sizes) if len(sizes) <= MAX_SIZES else None


def _total(sizes: Sizes, members: Members) -> int:
    if isinstance(sizes, int):
        return sizes * len(members.ranks)
    return sum(sizes or ())


def _reduce_op(values: Values) -> str:
    for value in values:
        if isinstance(value, _WITH_REDUCE_OP):
            return _REDUCE_OPS[value.reduceOp.op]
        if isinstance(value, dist.ReduceOp):
            return _REDUCE_OPS[value.op]
        if isinstance(value, dist.ReduceOp.RedOpType):
            return _REDUCE_OPS[value]
    return "SUM"


def _root(values: Values, members: Members) -> int:
    for value in values:
        if isinstance(value, _WITH_ROOT):
            return members.ranks[value.rootRank]
        if isinstance(value, int):
            return members.ranks[value]
    return members.ranks[0]
