"""What a collective moves, read from the arguments with which torch calls a process group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from sandbox.event import Op
from sandbox.observing.call_arguments import (
    Members,
    Values,
    count_numel,
    describe_dtype,
    get_peer,
    get_reduce_op,
    get_root,
    list_numels,
    list_tensors,
    shorten_sizes,
    sizes_by_member,
    sizes_of_split,
    total,
)
from sandbox.observing.record import Call

Describe = Callable[[Values, Members], Call]


def _all_reduce(values: Values, _: Members) -> Call:
    return _same_everywhere(Op.ALL_REDUCE, values[0], get_reduce_op(values), None)


def _broadcast(values: Values, members: Members) -> Call:
    return _same_everywhere(Op.BROADCAST, values[0], None, get_root(values, members))


def _reduce(values: Values, members: Members) -> Call:
    return _same_everywhere(Op.REDUCE, values[0], get_reduce_op(values), get_root(values, members))


def _all_gather(values: Values, members: Members) -> Call:
    inputs, takes = list_tensors(values[1]), sizes_by_member(values[0])
    return _call(
        Op.ALL_GATHER, inputs, total(takes, members), gives=count_numel(inputs), takes=takes
    )


def _all_gather_single(values: Values, members: Members) -> Call:
    numel, inputs = count_numel(list_tensors(values[0])), list_tensors(values[1])
    takes = numel // len(members.ranks)
    return _call(Op.ALL_GATHER, inputs, numel, gives=count_numel(inputs), takes=takes)


def _all_gather_coalesced(values: Values, members: Members) -> Call:
    inputs = list_tensors(values[1])
    numel = count_numel(inputs)
    return _call(Op.ALL_GATHER, inputs, numel * len(members.ranks), gives=numel, takes=numel)


def _reduce_scatter(values: Values, members: Members) -> Call:
    inputs, gives = values[1], sizes_by_member(values[1])
    first = inputs[0] if isinstance(inputs[0], Tensor) else inputs[0][0]
    return _call(
        Op.REDUCE_SCATTER,
        [first],
        total(gives, members),
        reduce_op=get_reduce_op(values),
        gives=gives,
        takes=count_numel(list_tensors(values[0])),
    )


def _reduce_scatter_single(values: Values, members: Members) -> Call:
    takes, inputs = count_numel(list_tensors(values[0])), list_tensors(values[1])
    numel = count_numel(inputs)
    return _call(
        Op.REDUCE_SCATTER,
        inputs,
        numel,
        reduce_op=get_reduce_op(values),
        gives=numel // len(members.ranks),
        takes=takes,
    )


def _gather(values: Values, members: Members) -> Call:
    inputs, root = list_tensors(values[1]), get_root(values, members)
    gives = count_numel(inputs)
    # A list anywhere but at the root is ignored, by torch and here.
    takes = sizes_by_member(values[0]) if root == members.rank else None
    numel = total(gives if takes is None else takes, members)
    return _call(Op.GATHER, inputs, numel, root=root, gives=gives, takes=takes)


def _scatter(values: Values, members: Members) -> Call:
    outputs, root = list_tensors(values[0]), get_root(values, members)
    takes = count_numel(outputs)
    gives = sizes_by_member(values[1]) if root == members.rank else None
    numel = total(takes if gives is None else gives, members)
    return _call(Op.SCATTER, outputs, numel, root=root, gives=gives, takes=takes)


def _all_to_all_single(values: Values, members: Members) -> Call:
    outputs, inputs, takes_rows, gives_rows = values[:4]
    gives = sizes_of_split(inputs, gives_rows, members)
    takes = sizes_of_split(outputs, takes_rows, members)
    return _call(Op.ALL_TO_ALL, [inputs], inputs.numel(), gives=gives, takes=takes)


def _all_to_all(values: Values, _: Members) -> Call:
    outputs, inputs = values[:2]
    gives, takes = shorten_sizes(list_numels(inputs)), shorten_sizes(list_numels(outputs))
    return _call(Op.ALL_TO_ALL, inputs, count_numel(inputs), gives=gives, takes=takes)


def _barrier(_: Values, __: Members) -> Call:
    return without_tensor(Op.BARRIER)


def _send(values: Values, members: Members) -> Call:
    tensors, peer, tag = values[:3]
    return _call(Op.SEND, tensors, count_numel(tensors), root=get_peer(peer, members), tag=tag)


def _recv(values: Values, members: Members) -> Call:
    tensors, peer, tag = values[:3]
    return _call(Op.RECV, tensors, count_numel(tensors), root=get_peer(peer, members), tag=tag)


def _recv_anysource(values: Values, _: Members) -> Call:
    tensors, tag = values[:2]
    return _call(Op.RECV, tensors, count_numel(tensors), tag=tag)


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


def merge(calls: list[Call]) -> Call:
    """Return the one call that stands for a coalesced block; its messages match no others."""
    ops = {call.op for call in calls}
    numel = sum(call.numel for call in calls)
    return calls[0]._replace(
        op=calls[0].op if len(ops) == 1 else Op.COALESCED.value,
        numel=numel,
        gives=numel,
        takes=numel,
        tag=None,
    )


def _same_everywhere(op: Op, tensors: Any, reduce_op: str | None, root: int | None) -> Call:
    """Describe an operation in which every rank holds the whole tensor."""
    tensors = list_tensors(tensors)
    numel = count_numel(tensors)
    return _call(op, tensors, numel, reduce_op=reduce_op, root=root, gives=numel, takes=numel)


def _call(op: Op, tensors: Sequence[Tensor], numel: int, **fields: Any) -> Call:
    first = tensors[0]
    dtype, itemsize = describe_dtype(first.dtype)
    return Call(op.value, tuple(first.shape), numel, dtype, itemsize, **fields)
