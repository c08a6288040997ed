"""What of a run a picture shows: all of it, or one rank, one step, one operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.event import Op
from sandbox.ledger import Ledger
from sandbox.pictures.spans import Window

# By rank, (number, when it ended in seconds since the call of launch) of each optimizer step.
Steps = Sequence[Sequence[tuple[int, float]]]


@dataclass(frozen=True)
class View:
    """A choice: None is everything. Ranks and operations that are not chosen are drawn pale."""

    rank: int | None = None
    step: int | None = None
    op: Op | None = None

    def shows(self, rank: int, op: Op | None = None) -> bool:
        """Whether a rank, or an operation of it, is among the chosen."""
        return self.rank in (None, rank) and (op is None or self.op in (None, op))

    def window(self, ledger: Ledger, steps: Steps) -> Window:
        """Return the time to show: from the first event to the last end, or that of the step."""
        ends = [e.start_s if e.end_s is None else e.end_s for e in ledger]
        first_s, last_s = min(e.start_s for e in ledger), max(ends)
        last_s = max([last_s, *(time_s for of_rank in steps for _, time_s in of_rank)])
        if self.step is not None:
            ended = [_ends(of_rank) for of_rank in steps]
            last_s = max(e[self.step] for e in ended if self.step in e)
            first_s = min([e[self.step - 1] for e in ended if self.step - 1 in e] or [first_s])
        return Window(first_s, last_s if last_s > first_s else first_s + 1e-6)


def step_numbers(steps: Steps) -> list[int]:
    """Return the numbers of the steps that any rank has ended."""
    return sorted({number for of_rank in steps for number, _ in of_rank})


def _ends(of_rank: Sequence[tuple[int, float]]) -> Mapping[int, float]:
    return dict(of_rank)
