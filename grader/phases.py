"""Which collectives a rank issued in which phase: the ledger, cut at marks."""

from collections import Counter

import torch.distributed as dist

from sandbox.ledger import Event, Ledger

MARK = "barrier"


def mark() -> None:
    """End a phase. Collective: every rank must call this."""
    dist.barrier()


def phases_of(ledger: Ledger, rank: int, num_phases: int) -> list[list[Event]]:
    """Return the events of the last `num_phases` phases, each between two marks, of one rank."""
    phases: list[list[Event]] = [[]]
    for event in ledger.where(rank=rank):
        if event.op == MARK:
            phases.append([])
        else:
            phases[-1].append(event)
    return phases[-num_phases - 1 : -1]


def counts(events: list[Event]) -> Counter[tuple[str, int]]:
    """Return how often each (op, elements) was issued."""
    return Counter((event.op, event.numel) for event in events)
