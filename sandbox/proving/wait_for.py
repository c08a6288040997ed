"""Who waits for whom, and in what: what a picture of a deadlock is drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.event import Op


@dataclass(frozen=True)
class WaitFor:
    """One thread of a rank that waits in an operation, as an error tells it.

    Of a mismatch, it is one member's call; `waits_for` then holds those that have not called yet.
    """

    rank: int
    op: Op
    group: tuple[int, ...]  # the ranks of the group; of a store, the whole world
    waits_for: tuple[int, ...]  # the ranks of which one at least has to act
    site: str | None  # "file:line" of the learner's call
    text: str  # all of this in one line
