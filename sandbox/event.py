"""One call of one rank on a group, as plain data, and the names of the operations."""

from __future__ import annotations

import difflib
import enum
from dataclasses import dataclass

from sandbox import source


class Op(enum.Enum):
    """An operation on a group, in the words of `torch.distributed`."""

    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_REDUCE = "all_reduce"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    ALL_TO_ALL = "all_to_all"
    BARRIER = "barrier"
    MONITORED_BARRIER = "monitored_barrier"
    COALESCED = "coalesced"  # different collectives in one coalesced block
    SEND = "send"
    RECV = "recv"
    INIT_PROCESS_GROUP = "init_process_group"
    NEW_GROUP = "new_group"
    STORE_GET = "store.get"
    STORE_WAIT = "store.wait"

    @classmethod
    def _missing_(cls, value: object) -> Op:
        """Refuse a name that no operation has, with the nearest that one has."""
        names = [op.value for op in cls]
        near = difflib.get_close_matches(str(value), names, n=1)
        hint = f" Hint: did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"op is {value!r}, expected one of {', '.join(names)}.{hint}")

    @property
    def is_point_to_point(self) -> bool:
        """Whether two ranks do this alone, outside the order that a group keeps."""
        return self in (Op.SEND, Op.RECV)

    @property
    def makes_group(self) -> bool:
        """Whether this creates a group; nothing of the learner's is sent."""
        return self in (Op.INIT_PROCESS_GROUP, Op.NEW_GROUP)

    @property
    def waits_for_store(self) -> bool:
        """Whether this waits until somebody sets a key of a store; a ledger does not hold it."""
        return self in (Op.STORE_GET, Op.STORE_WAIT)


@dataclass(frozen=True)
class Mark:
    """A moment that a rank has noted: what came before it is one phase, what follows the next."""

    rank: int
    name: str
    time_s: float  # seconds since the call of launch


@dataclass(frozen=True, kw_only=True, repr=False)
class Event:
    """One call of one rank, as issued: what gloo makes of it inside is not visible here.

    `numel` and `nbytes` are those of the whole tensor that the call is about: what an all_gather
    ends with, what a reduce_scatter starts from, this rank's whole input of an all_to_all.
    """

    rank: int
    seq: int  # 1, 2, … in this group and run; for send and recv, among this rank's own
    op: Op
    group: tuple[int, ...]  # the ranks of the group
    numel: int
    dtype: str
    nbytes: int
    reduce_op: str | None = None
    call_site: str | None = None  # "file:line" of the learner, or of the library frame below
    start_s: float = 0.0  # seconds since the call of launch
    end_s: float | None = None  # None: not completed, or nobody ever waited for it
    waited_from_s: float | None = None  # when a thread began to block in it; None: none seen to
    is_async: bool = False
    shape: tuple[int, ...] = ()  # of the (first) tensor that was passed in
    root: int | None = None  # global rank of the source or destination; the other one of send, recv
    parts: tuple[int, ...] | None = None  # elements per member of the group, where they differ

    @property
    def line(self) -> str | None:
        """The call site as people read it: "cell In[3], line 5"."""
        return self.call_site and source.describe(self.call_site)

    @property
    def duration_s(self) -> float | None:
        """Seconds from issue to completion, None where the end was not seen."""
        return None if self.end_s is None else self.end_s - self.start_s

    def __repr__(self) -> str:
        return source.represent(self, "call_site")
