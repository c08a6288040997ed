"""The ledger: every collective that every rank issued, as plain data to count and to filter."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload


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

    @property
    def is_point_to_point(self) -> bool:
        """Whether two ranks do this alone, outside the order that a group keeps."""
        return self in (Op.SEND, Op.RECV)

    @property
    def makes_group(self) -> bool:
        """Whether this creates a group; nothing of the learner's is sent."""
        return self in (Op.INIT_PROCESS_GROUP, Op.NEW_GROUP)


@dataclass(frozen=True, kw_only=True)
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
    is_async: bool = False
    shape: tuple[int, ...] = ()  # of the (first) tensor that was passed in
    root: int | None = None  # global rank of the source or destination; the other one of send, recv
    parts: tuple[int, ...] | None = None  # elements per member of the group, where they differ

    @property
    def duration_s(self) -> float | None:
        """Seconds from issue to completion, None where the end was not seen."""
        return None if self.end_s is None else self.end_s - self.start_s


class Ledger:
    """The events of one run, in the order in which they were issued."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = tuple(sorted(events, key=lambda event: (event.start_s, event.rank)))

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Ledger: ...
    def __getitem__(self, index: int | slice) -> Event | Ledger:
        found = self._events[index]
        return Ledger(found) if isinstance(found, tuple) else found

    def where(
        self,
        matches: Callable[[Event], bool] | None = None,
        *,
        op: Op | str | None = None,
        rank: int | None = None,
        group: Sequence[int] | None = None,
        dtype: str | None = None,
        reduce_op: str | None = None,
    ) -> Ledger:
        """Return the events that meet every condition given; `matches` is a test of your own."""
        asked = {
            "op": None if op is None else Op(op),
            "rank": rank,
            "group": None if group is None else tuple(group),
            "dtype": dtype,
            "reduce_op": reduce_op,
        }
        asked = {name: value for name, value in asked.items() if value is not None}
        return Ledger(
            event
            for event in self._events
            if all(getattr(event, name) == value for name, value in asked.items())
            and (matches is None or matches(event))
        )

    def count(self, op: Op | str, rank: int | None = 0) -> int:
        """Return how often `rank` (None: all ranks together) issued `op`."""
        return len(self.where(op=op, rank=rank))

    def sent_bytes(self, rank: int, algorithm: str = "ring") -> float:
        """Return the bytes that `rank` sends for all its events, under the ring algorithms.

        With N members and B = `nbytes` of the whole tensor, a rank sends
            all_reduce              2 B (N - 1) / N
            all_gather              B (N - 1) / N   (its own shard and N - 2 that it passes on)
            reduce_scatter          B (N - 1) / N
            all_to_all              what is meant for the others: B (N - 1) / N if even
            broadcast               B; the last of the chain, the rank before the root, nothing
            reduce                  B; the root nothing
            gather                  its part; the root nothing
            scatter                 at the root what is meant for the others; elsewhere nothing
            send                    B
        and nothing for barriers, recv, and in a group of one rank. Patarasuk and Yuan, "Bandwidth
        optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009), sec. 3: an
        all-reduce is a reduce-scatter and an all-gather, each of which costs B (N - 1) / N; the
        broadcast is the pipelined chain that NCCL uses as well.
        """
        if algorithm != "ring":
            raise ValueError(f"algorithm is {algorithm!r}, expected 'ring'.")
        return float(sum(ring_bytes(event) for event in self._events if event.rank == rank))

    def __repr__(self) -> str:
        ranks = sorted({event.rank for event in self._events})
        if not ranks:
            return "Ledger(no collectives)"
        counts = [Counter(e.op.value for e in self._events if e.rank == rank) for rank in ranks]
        each = "each rank: " if counts.count(counts[0]) == len(ranks) > 1 else ""
        shown = counts[0] if each else sum(counts, Counter[str]())
        listed = ", ".join(f"{number} {op}" for op, number in shown.most_common())
        return f"Ledger({len(ranks)} rank{'s' * (len(ranks) > 1)}, {each}{listed})"


def ring_bytes(event: Event) -> Fraction:
    """Return the bytes that the event's rank sends for it; see `Ledger.sent_bytes`."""
    size = len(event.group)
    if size == 1:
        return Fraction(0)
    whole = Fraction(event.nbytes)
    own = whole * _own_part(event)
    match event.op:
        case Op.ALL_REDUCE:
            return 2 * whole * (size - 1) / size
        case Op.ALL_GATHER | Op.REDUCE_SCATTER | Op.COALESCED:
            return whole * (size - 1) / size
        case Op.ALL_TO_ALL:
            return whole - own
        case Op.BROADCAST:
            return Fraction(0) if _is_last_in_chain(event) else whole
        case Op.REDUCE:
            return whole if event.rank != event.root else Fraction(0)
        case Op.GATHER:
            return own if event.rank != event.root else Fraction(0)
        case Op.SCATTER:
            return whole - own if event.rank == event.root else Fraction(0)
        case Op.SEND:
            return whole
    return Fraction(0)


def _is_last_in_chain(event: Event) -> bool:
    """Whether the chain of a broadcast, which starts at the root, ends at the event's rank."""
    assert event.root is not None
    return event.rank == event.group[event.group.index(event.root) - 1]


def _own_part(event: Event) -> Fraction:
    """Return the share of the whole that is this rank's."""
    if event.parts is None or not sum(event.parts):
        return Fraction(1, len(event.group))
    return Fraction(event.parts[event.group.index(event.rank)], sum(event.parts))
