"""Collectives in words: what a learner reads about who called what, and where."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sandbox import source
from sandbox.event import Op
from sandbox.failure import name_ranks
from sandbox.observing.record import Call

_SOURCES = (Op.BROADCAST.value, Op.SCATTER.value, Op.RECV.value)


def describe_call(call: Call) -> str:
    """Return a call in words: "all_reduce (SUM) of float32 (4, 3)", "store.get('key')"."""
    if call.key is not None:
        return f"{call.op}({call.key!r})"
    reduction = f" ({call.reduce_op})" if call.reduce_op else ""
    return f"{call.op}{reduction}{describe_tensor(call, ' of ')}"


def describe_tensor(call: Call, preposition: str) -> str:
    """Return what is moved, " of float32 (4, 3) from rank 0", or nothing for a barrier."""
    if not call.dtype:
        return ""
    way = "from" if call.op in _SOURCES else "to"
    if call.root is not None:
        peer = f" {way} rank {call.root}"
    else:
        peer = " from any rank" if call.op == Op.RECV.value else ""
    tag = f" with tag {call.tag}" if call.tag else ""
    return f"{preposition}{call.dtype} {call.shape}{peer}{tag}"


def number_call(call: Call, seq: int | None, group: str) -> str:
    """Return which one it is: "collective #7, all_reduce, of ranks 0-3".

    The number counts all collectives of the group. What has none, a send, is described instead.
    """
    if seq is None:
        return describe_call(call)
    if seq == 0:
        return f"{call.op} of {group}"
    return f"collective #{seq}, {call.op}, of {group}"


def describe_site(site: str | None) -> str:
    """Return " at cell In[3], line 5", or nothing where no line is known."""
    return f" at {source.describe(site)}" if site else ""


def list_ranks(lines: Mapping[int, str], first: Collection[int] = ()) -> str:
    """Return one indented line for all ranks of which the same is to be said, `first` on top."""
    by_text: dict[str, list[int]] = {}
    for rank in sorted(lines, key=lambda rank: (rank not in first, rank)):
        by_text.setdefault(lines[rank], []).append(rank)
    return "".join(f"\n  {name_ranks(ranks)}: {text}" for text, ranks in by_text.items())
