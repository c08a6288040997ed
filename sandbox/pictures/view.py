"""What of a run a picture shows: all of it, or one rank, one step, one operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.event import Event, Op
from sandbox.faults.injected import Injected
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

    def window(self, ledger: Ledger, steps: Steps, faults: Sequence[Injected] = ()) -> Window:
        """Return the time to show: from the first event to the last end, or that of the step."""
        ends = [e.start_s if e.end_s is None else e.end_s for e in ledger]
        ends += [time_s for of_rank in steps for _, time_s in of_rank]
        starts = [e.start_s for e in ledger]
        starts += [each.start_s for each in faults if each.start_s is not None]
        first_s = min(starts)
        last_s = max([*starts, *ends, *(each.end_s for each in faults if each.end_s is not None)])
        if self.step is not None:
            bounds = [self._bounds(dict(of_rank)) for of_rank in steps]
            first_s = max(first_s, min(start_s for start_s, _ in bounds))
            last_s = min(last_s, max(end_s for _, end_s in bounds))
        return Window(first_s, last_s if last_s > first_s else first_s + 1e-6)

    def includes(self, event: Event, steps: Steps) -> bool:
        """Whether an event was issued in the step, as its own rank counts steps."""
        if self.step is None:
            return True
        start_s, end_s = self._bounds(dict(steps[event.rank]))
        return start_s <= event.start_s <= end_s

    def _bounds(self, ends: Mapping[int, float]) -> tuple[float, float]:
        """Return when a rank began and ended the step; it begins where the one before ended."""
        if self.step is None or self.step not in ends:
            return math.inf, -math.inf
        return ends.get(self.step - 1, -math.inf), ends[self.step]


def step_numbers(steps: Steps) -> list[int]:
    """Return the numbers of the steps that any rank has ended."""
    return sorted({number for of_rank in steps for number, _ in of_rank})
