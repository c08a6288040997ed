"""Which collectives a rank issued in which phase: the ledger, cut at marks."""

from collections import Counter

import torch.distributed as dist

from sandbox.event import Event
from sandbox.ledger import Ledger

MARK = "barrier"


def mark() -> None:
    """End a phase. Collective: every rank must call this."""
    dist.barrier()


def phases_of(ledger: Ledger, rank: int) -> list[list[Event]]:
    """Return one rank's events, cut at its marks; the last phase is what followed the last mark."""
    phases: list[list[Event]] = [[]]
    for event in ledger.where(rank=rank):
        if event.op.value == MARK:
            phases.append([])
        else:
            phases[-1].append(event)
    return phases


def counts(events: list[Event]) -> Counter[tuple[str, int]]:
    """Return how often each (op, elements) was issued."""
    return Counter((event.op.value, event.numel) for event in events)
