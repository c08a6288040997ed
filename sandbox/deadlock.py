"""Proves that ranks wait for each other, or for one that has finished, and says who and where.

An operation completes when all members of its group have issued it. So a blocked rank can go on
only if, in some operation that one of its threads waits in, a member that is still lacking may go
on, and may come to issue it. (An asynchronous operation counts as a thread that waits in it.) Ranks
of which this never follows, starting at those that run, are stuck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.failure import name_ranks
from sandbox.operation import Key, Operation
from sandbox.record import Issue, Waiting
from sandbox.wording import describe_site, describe_tensor, list_ranks, number_call


class Wait(NamedTuple):
    """What a thread waits in, and the record that says so."""

    key: Key
    number: int
    waiting: Waiting


@dataclass
class RankState:
    """One rank as its records tell: what its threads wait in, and whether it is done."""

    waits: dict[int, Wait] = field(default_factory=dict)  # by thread
    # Asynchronous ones without an end yet: when they complete, callbacks may do anything.
    in_flight: dict[int, Key] = field(default_factory=dict)
    has_finished: bool = False
    has_died: bool = False
    last: Issue | None = None  # its latest collective
    heard_s: float = 0.0  # the time of its latest issue or end
    unconfirmed: int | None = None  # an issue that no record has followed yet

    @property
    def has_ended(self) -> bool:
        """Whether there are no more records to come."""
        return self.has_finished or self.has_died

    @property
    def has_ended_well(self) -> bool:
        """Whether the rank has finished, and will never issue anything more."""
        return self.has_finished and not self.has_died

    def is_blocked(self, pending: Mapping[Key, Operation]) -> bool:
        """Whether every thread that could act waits in an operation that lacks a member."""
        if self.has_ended or not self.waits:
            return False
        threads = self.waits.keys()
        return all(key in pending for key in self.awaited()) and all(
            threads >= set(wait.waiting.others) for wait in self.waits.values()
        )

    def awaited(self) -> list[Key]:
        """Return the operations of which one has to complete before the rank does anything."""
        return [wait.key for wait in self.waits.values()] + list(self.in_flight.values())


class Deadlock(NamedTuple):
    """The proof in words: the culprit, the one message, and what each stuck rank waits in."""

    rank: int
    message: str
    site: str | None
    waiting: dict[int, str]


def find_stuck(states: Sequence[RankState], pending: Mapping[Key, Operation]) -> list[int]:
    """Return the ranks that can never go on."""
    blocked = {rank for rank, state in enumerate(states) if state.is_blocked(pending)}
    may_act = {r for r, s in enumerate(states) if r not in blocked and not s.has_ended_well}
    stuck = set(blocked)
    while freed := {
        rank
        for rank in stuck
        if any(may_act & set(pending[key].missing) for key in states[rank].awaited())
    }:
        stuck -= freed
        may_act |= freed
    return sorted(stuck)


def find_deadlock(states: Sequence[RankState], pending: Mapping[Key, Operation]) -> Deadlock | None:
    """Return the deadlock of the ranks that are stuck, if any are."""
    stuck = find_stuck(states, pending)
    if not stuck:
        return None
    waiting = {rank: describe_wait(states[rank], rank, pending) for rank in stuck}
    operations = [pending[w.key] for rank in stuck for w in states[rank].waits.values()]
    abandoned = [op for op in operations if any(states[r].has_ended_well for r in op.missing)]
    if abandoned:
        # Best the one that lacks nobody who only waits, too: that is where it began.
        operation = max(
            abandoned,
            key=lambda op: (
                all(states[rank].has_ended_well for rank in op.missing),
                len(op.issued),
                -(op.seq or 0),
            ),
        )
        culprits, headline = _tell_abandoned(operation, states)
        site = next(iter(operation.issued.values())).site
    else:
        operation = min(operations, key=lambda op: (len(op.issued), op.missing))
        culprits = sorted(operation.issued)
        headline = f"{name_ranks(stuck)} wait for each other."
        site = operation.issued[culprits[0]].site
    return Deadlock(culprits[0], headline + list_ranks(waiting, culprits), site, waiting)


def describe_wait(state: RankState, rank: int, pending: Mapping[Key, Operation]) -> str:
    """Return what the first waiting thread of a blocked rank waits in, and for whom."""
    operation = pending[min(state.waits.values(), key=lambda wait: wait.number).key]
    issue = operation.issued[rank]
    what = number_call(issue.call, operation.seq, operation.group)
    tensor = describe_tensor(issue.call, " with ")
    return (
        f"waiting for {name_ranks(operation.missing)} in {what}{tensor}{describe_site(issue.site)}"
    )


def _tell_abandoned(operation: Operation, states: Sequence[RankState]) -> tuple[list[int], str]:
    """Blame the fewer: those who called what the others did not, or those who never called it."""
    issued = sorted(operation.issued)
    finished = [rank for rank in operation.missing if states[rank].has_ended_well]
    if len(issued) < len(finished):
        return issued, (
            f"only {name_ranks(issued)} called {operation.name()}; "
            f"{name_ranks(finished)} finished without it."
        )
    return finished, (
        f"{name_ranks(finished)} never called {operation.name()}: "
        f"{'it' if len(finished) == 1 else 'they'} finished{_tell_last(finished, states)}."
    )


def _tell_last(ranks: list[int], states: Sequence[RankState]) -> str:
    """Return the latest collective of ranks that ended alike."""
    lasts = {issue and (issue.call.op, issue.site) for issue in (states[r].last for r in ranks)}
    last = lasts.pop()
    if last is None or lasts:
        return ""
    return f" after {last[0]}{describe_site(last[1])}"
