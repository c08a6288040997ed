"""The bytes that a rank sends for an operation, under the ring algorithms."""

from __future__ import annotations

from fractions import Fraction

from sandbox.event import Event, Op


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
