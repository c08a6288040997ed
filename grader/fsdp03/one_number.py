"""What a rank sends to agree with the others on one number: numbers, not whole gradients."""

from collections.abc import Sequence

from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.ledger import Ledger


def judge_sent(phases: Sequence[Ledger], largest_bytes: int) -> Failure | None:
    """Judge the collectives of one answer, a Ledger per rank: each below the largest gradient."""
    for rank, events in enumerate(phases) if len(phases) > 1 else ():
        for event in events:
            if event.nbytes >= largest_bytes:
                return Failure(
                    mistake=Mistake.GRADIENTS_GATHERED,
                    expected="one number per rank sent",
                    came=f"{event.op.value} of {event.nbytes:,} bytes",
                    where=f"rank {rank}",
                )
    return None
