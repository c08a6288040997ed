"""What the monitor can prove: a deadlock or a mismatch, its culprit, and one message."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sandbox.proving.wait_for import WaitFor


class ProblemKind(enum.Enum):
    """What the monitor can prove."""

    DEADLOCK = "deadlock"
    MISMATCH = "mismatch"


@dataclass(frozen=True)
class Problem:
    """What went wrong: the culprit, one message, the learner's line, and who waits in what."""

    kind: ProblemKind
    rank: int | None  # None: no one alone
    message: str
    site: str | None
    waiting: dict[int, str]
    waits: tuple[WaitFor, ...]

    @property
    def is_by_store(self) -> bool:
        """Whether the proof rests on a key that no rank will set."""
        return any(wait.op.waits_for_store for wait in self.waits)
