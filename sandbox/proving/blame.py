"""Says of a proven deadlock who is to blame, and in what each stuck rank waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sandbox.event import Op
from sandbox.failure import name_ranks
from sandbox.proving.deadlock import RankState, Wait, find_cycle, find_stuck
from sandbox.proving.operation import Key, Operation
from sandbox.proving.store_waits import StoreWait
from sandbox.proving.wait_for import WaitFor
from sandbox.proving.wording import (
    describe_call,
    describe_site,
    describe_tensor,
    list_ranks,
    number_call,
)

_COUNTERPART = {Op.SEND: "recv from", Op.RECV: "send to"}


class Deadlock(NamedTuple):
    """The proof in words: the culprit, the one message, and what each stuck rank waits in."""

    rank: int
    message: str
    site: str | None
    waiting: dict[int, str]
    waits: tuple[WaitFor, ...]


def find_deadlock(states: Sequence[RankState], pending: Mapping[Key, Operation]) -> Deadlock | None:
    """Return the deadlock of the ranks that are stuck, if any are."""
    stuck = find_stuck(states, pending)
    if not stuck:
        return None
    waiting = {rank: describe_wait(states[rank], rank, pending) for rank in stuck}
    operations = _awaited_by(stuck, states, pending)
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
        culprits, headline = _tell_cycle(stuck, states, pending)
        first = min(states[culprits[0]].waits.values(), key=lambda wait: wait.number)
        site = pending[first.key].issued[culprits[0]].site
    waits = tuple(
        _as_wait_for(rank, wait, pending) for rank in stuck for wait in states[rank].waits.values()
    )
    return Deadlock(culprits[0], headline + list_ranks(waiting, culprits), site, waiting, waits)


def describe_wait(state: RankState, rank: int, pending: Mapping[Key, Operation]) -> str:
    """Return what the first waiting thread of a blocked rank waits in, and for whom."""
    first = min(state.waits.values(), key=lambda wait: wait.number)
    return _describe(rank, pending[first.key])


def _describe(rank: int, operation: Operation) -> str:
    issue = operation.issued[rank]
    what = number_call(issue.call, operation.seq, operation.group)
    if isinstance(operation, StoreWait):
        return f"waiting for any rank to set the key of {what}{describe_site(issue.site)}"
    tensor = "" if operation.seq is None else describe_tensor(issue.call, " with ")
    return (
        f"waiting for {name_ranks(operation.missing)} in {what}{tensor}{describe_site(issue.site)}"
    )


def _as_wait_for(rank: int, wait: Wait, pending: Mapping[Key, Operation]) -> WaitFor:
    operation = pending[wait.key]
    issue = operation.issued[rank]
    return WaitFor(
        rank=rank,
        op=Op(issue.call.op),
        group=operation.members,
        waits_for=tuple(sorted(operation.helpers - {rank})),
        site=issue.site,
        text=_describe(rank, operation),
    )


def _awaited_by(
    ranks: Sequence[int], states: Sequence[RankState], pending: Mapping[Key, Operation]
) -> list[Operation]:
    return [pending[wait.key] for rank in ranks for wait in states[rank].waits.values()]


def _tell_abandoned(operation: Operation, states: Sequence[RankState]) -> tuple[list[int], str]:
    """Blame the fewer: those who called what the others did not, or those who never called it."""
    issued = sorted(operation.issued)
    finished = [rank for rank in operation.missing if states[rank].has_ended_well]
    they = "it" if len(finished) == 1 else "they"
    left = f"{they} finished{_tell_last(finished, states)}."
    counterpart = _COUNTERPART.get(Op(operation.call.op))
    if counterpart:
        text = f"{name_ranks(finished)} never called {counterpart} {name_ranks(issued)}: {left}"
        return (issued if len(issued) < len(finished) else finished), text
    if isinstance(operation, StoreWait):
        return (issued if len(issued) < len(finished) else finished), (
            f"{name_ranks(finished)} never set the key of {describe_call(operation.call)}: {left}"
        )
    if len(issued) < len(finished):
        return issued, (
            f"only {name_ranks(issued)} called {operation.name()}; "
            f"{name_ranks(finished)} finished without it."
        )
    return finished, f"{name_ranks(finished)} never called {operation.name()}: {left}"


def _tell_cycle(
    stuck: Sequence[int], states: Sequence[RankState], pending: Mapping[Key, Operation]
) -> tuple[list[int], str]:
    """Blame whom most wait for; of equals the last rank, as programs go by rank 0."""
    cycle = find_cycle(stuck, states, pending)
    waited_for = Counter(r for waiter in stuck for r in states[waiter].helpers(pending) - {waiter})
    culprit = max(cycle, key=lambda rank: (waited_for[rank], rank))
    first = min(states[culprit].waits.values(), key=lambda wait: wait.number)
    culprits = [culprit, *sorted(pending[first.key].issued.keys() - {culprit})]
    all_make_groups = all(
        Op(operation.call.op).makes_group for operation in _awaited_by(cycle, states, pending)
    )
    reason = "make groups in different orders, and " if all_make_groups else ""
    return culprits, f"{name_ranks(cycle)} {reason}wait for each other."


def _tell_last(ranks: list[int], states: Sequence[RankState]) -> str:
    """Return the latest operation of ranks that ended alike."""
    lasts = {issue and (issue.call.op, issue.site) for issue in (states[r].last for r in ranks)}
    last = lasts.pop()
    if last is None or lasts:
        return ""
    return f" after {last[0]}{describe_site(last[1])}"
