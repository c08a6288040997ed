"""Proves that ranks wait for each other, or for one that has finished.

An operation completes when all its ranks have issued it: the members of a group, or the two of a
message. So a blocked rank can go on only if, in some operation that one of its threads waits in, a
rank that is still lacking may go on, and may come to issue it. (An asynchronous collective counts
as a thread that waits in it. For a key of a store, and for a message from any source, one of
several ranks is enough.) Ranks of which this never follows, starting at those that run, are stuck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.observing.record import Issue, Waiting
from sandbox.proving.operation import Key, Operation


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
    last: Issue | None = None  # its latest operation, the making of groups aside
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
        """Whether every thread that could act waits in an operation that lacks a rank."""
        if self.has_ended or not self.waits:
            return False
        threads = self.waits.keys()
        return all(key in pending for key in self.awaited()) and all(
            threads >= set(wait.waiting.others) for wait in self.waits.values()
        )

    def awaited(self) -> list[Key]:
        """Return the operations of which one has to complete before the rank does anything."""
        return [wait.key for wait in self.waits.values()] + list(self.in_flight.values())

    def helpers(self, pending: Mapping[Key, Operation]) -> set[int]:
        """Return the ranks of which one has to act before this blocked one does anything."""
        return set().union(*(pending[key].helpers for key in self.awaited()))

    def needs_on_stream(self, pending: Mapping[Key, Operation]) -> set[int]:
        """Return the ranks that this blocked one's GPU waits for, while it may itself go on.

        It may yet issue what they wait for, unless they have finished.
        """
        keys = [wait.key for wait in self.waits.values() if wait.waiting.on_stream]
        return set().union(*(pending[key].helpers for key in keys))

    @property
    def hears_signals(self) -> bool:
        """Whether any rank could make it go on, by a signal."""
        return any(wait.waiting.hears_signals for wait in self.waits.values())


def find_stuck(states: Sequence[RankState], pending: Mapping[Key, Operation]) -> list[int]:
    """Return the ranks that can never go on."""
    ended = {rank for rank, state in enumerate(states) if state.has_ended_well}
    blocked = {
        rank
        for rank, state in enumerate(states)
        if state.is_blocked(pending) and state.needs_on_stream(pending) <= ended
    }
    may_act = {r for r, s in enumerate(states) if r not in blocked and not s.has_ended_well}
    stuck = set(blocked)
    while freed := {
        rank
        for rank in stuck
        if may_act & states[rank].helpers(pending) or (may_act and states[rank].hears_signals)
    }:
        stuck -= freed
        may_act |= freed
    return sorted(stuck)


def find_cycle(
    stuck: Sequence[int], states: Sequence[RankState], pending: Mapping[Key, Operation]
) -> list[int]:
    """Return those of the stuck ranks that wait for themselves, by way of others, if any do.

    (All threads of a rank are taken together, so there may be none: then all the stuck ranks.)
    """
    reached = {r: (states[r].helpers(pending) - {r}) & set(stuck) for r in stuck}
    for via in stuck:  # Warshall's transitive closure
        for rank in stuck:
            if via in reached[rank]:
                reached[rank] |= reached[via]
    return [rank for rank in stuck if rank in reached[rank]] or list(stuck)
