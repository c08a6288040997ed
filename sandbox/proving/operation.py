"""One thing that ranks do together: who has issued it, and who is lacking."""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbox.observing.record import Call, Issue
from sandbox.proving.wording import number_call

# Group id and place in its order; of send and recv, rank and number; of a store, its key.
Key = tuple[str, int] | tuple[int, int] | tuple[str, str]


@dataclass
class Operation:
    """One collective, send, recv or wait for a store, complete once all `ranks` have issued it."""

    group: str  # in words
    seq: int | None  # as shown; None outside the order of a group
    members: tuple[int, ...]  # the ranks of the group
    ranks: tuple[int, ...]  # those of them that take part
    issued: dict[int, Issue] = field(default_factory=dict)

    @property
    def missing(self) -> list[int]:
        """The ranks that have not issued it."""
        return [rank for rank in self.ranks if rank not in self.issued]

    @property
    def helpers(self) -> set[int]:
        """The ranks of which one has to act before any of those that wait can go on."""
        return set(self.missing)

    @property
    def calls(self) -> dict[int, Call]:
        """What each rank has issued."""
        return {rank: issue.call for rank, issue in self.issued.items()}

    @property
    def call(self) -> Call:
        """What the first rank has issued."""
        return next(iter(self.issued.values())).call

    def name(self) -> str:
        """Return which one it is, in words."""
        return number_call(self.call, self.seq, self.group)
