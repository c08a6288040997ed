"""One collective of a group: who has issued it, and how it is called in messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbox.record import Call, Issue
from sandbox.wording import number_call

Key = tuple[str, int | None]  # group id and place in its order; send and recv have none


@dataclass
class Operation:
    """One collective, which is complete once all `ranks` have issued it."""

    group: str  # in words
    seq: int | None  # as shown
    ranks: tuple[int, ...]
    issued: dict[int, Issue] = field(default_factory=dict)

    @property
    def missing(self) -> list[int]:
        """The members that have not issued it."""
        return [rank for rank in self.ranks if rank not in self.issued]

    @property
    def calls(self) -> dict[int, Call]:
        """What each member has issued."""
        return {rank: issue.call for rank, issue in self.issued.items()}

    def name(self) -> str:
        """Return which one it is, in words."""
        return number_call(next(iter(self.issued.values())).call, self.seq, self.group)
