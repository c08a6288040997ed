"""Says of a proven deadlock who is to blame, and in what each stuck rank waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sandbox.event import Op
from sandbox.failure import name_ranks
from sandbox.proving.deadlock import RankState, Wait, find_cycle, find_stuck
from sandbox.proving.group_calls import HINT as GROUP_CALLS_HINT
from sandbox.proving.group_calls import Elsewhere, GroupCalls
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

_BREAKS_SYMMETRY = {
    Op.SEND: "let one of them recv first, or send with isend and recv before you wait for it.",
    Op.RECV: "let one of them send first, or all start with isend.",
}
_COUNTERPART = {Op.SEND: "recv from", Op.RECV: "send to"}


class Deadlock(NamedTuple):
    """The proof in words: the culprit, the one message, and what each stuck rank waits in."""

    rank: int | None
    message: str
    site: str | None
    waiting: dict[int, str]
    waits: tuple[WaitFor, ...]


class Blame(NamedTuple):
    """Who is to blame, none where all are alike, and the line to show."""

    culprits: list[int]
    headline: str
    site: str | None
    hint: str = ""


def find_deadlock(
    states: Sequence[RankState], pending: Mapping[Key, Operation], group_calls: GroupCalls
) -> Deadlock | None:
    """Return the deadlock of the ranks that are stuck, if any are."""
    stuck = find_stuck(states, pending)
    if not stuck:
        return None
    waiting = {rank: describe_wait(states[rank], rank, pending) for rank in stuck}
    blame = _blame(stuck, states, pending, group_calls)
    waits = tuple(
        _as_wait_for(rank, wait, pending) for rank in stuck for wait in states[rank].waits.values()
    )
    message = blame.headline + list_ranks(waiting, blame.culprits)
    if blame.hint:
        message += f"\nHint: {blame.hint}"
    culprit = blame.culprits[0] if blame.culprits else None
    return Deadlock(culprit, message, blame.site, waiting, waits)


def _blame(
    stuck: Sequence[int],
    states: Sequence[RankState],
    pending: Mapping[Key, Operation],
    group_calls: GroupCalls,
) -> Blame:
    finished = [rank for rank, state in enumerate(states) if state.has_ended_well]
    operations = _awaited_by(stuck, states, pending)
    abandoned = [op for op in operations if set(op.missing) & set(finished)]
    if abandoned:
        # Best the one that lacks nobody who only waits, too: that is where it began.
        operation = max(
            abandoned,
            key=lambda op: (set(op.missing) <= set(finished), len(op.issued), -(op.seq or 0)),
        )
        awaited, suspects, elsewhere = [operation], operation.missing, {}
    else:
        cycle = find_cycle(stuck, states, pending)
        awaited, suspects = _awaited_by(cycle, states, pending), cycle
        elsewhere = _outside_new_group(cycle, states, pending)
    if any(_makes_group(operation) for operation in awaited) and (
        parting := group_calls.find_parting(stuck, finished, suspects, elsewhere)
    ):
        return Blame(parting.culprits, parting.describe(), parting.site, GROUP_CALLS_HINT)
    if abandoned:
        culprits, headline = _tell_abandoned(operation, states)
        return Blame(culprits, headline, next(iter(operation.issued.values())).site)
    return _tell_cycle(cycle, stuck, states, pending)


def _makes_group(operation: Operation) -> bool:
    return operation.call.op == Op.NEW_GROUP.value


def _outside_new_group(
    ranks: Sequence[int], states: Sequence[RankState], pending: Mapping[Key, Operation]
) -> dict[int, Elsewhere]:
    """Return the first thing that a rank waits in, for those that wait in no new_group."""
    found = {}
    for rank in ranks:
        first = min(states[rank].waits.values(), key=lambda wait: wait.number)
        if not any(map(_makes_group, _awaited_by([rank], states, pending))):
            operation = pending[first.key]
            issue = operation.issued[rank]
            what = number_call(issue.call, operation.seq, operation.group)
            found[rank] = Elsewhere(what, issue.site)
    return found


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
    cycle: Sequence[int],
    stuck: Sequence[int],
    states: Sequence[RankState],
    pending: Mapping[Key, Operation],
) -> Blame:
    """Blame whom most wait for; of equals the last rank, as programs go by rank 0.

    Of a cycle in which each does the same, as in a ring in which all send first, blame none alone.
    """
    waited_for = Counter(r for waiter in stuck for r in states[waiter].helpers(pending) - {waiter})
    firsts = {rank: min(states[rank].waits.values(), key=lambda w: w.number) for rank in cycle}
    issues = {rank: pending[first.key].issued[rank] for rank, first in firsts.items()}
    who = f"{name_ranks(list(cycle))} wait for each other"
    if (
        len(cycle) > 1
        and len({waited_for[rank] for rank in cycle}) == 1
        and len({(issue.call.op, issue.site) for issue in issues.values()}) == 1
    ):
        op, site = Op(issues[cycle[0]].call.op), issues[cycle[0]].site
        headline = f"{who}, all in {op.value}{describe_site(site)}: all are to blame, none alone."
        return Blame([], headline, site, _BREAKS_SYMMETRY.get(op, ""))
    culprit = max(cycle, key=lambda rank: (waited_for[rank], rank))
    others = pending[firsts[culprit].key].issued.keys() - {culprit}
    return Blame([culprit, *sorted(others)], f"{who}.", issues[culprit].site)


def _tell_last(ranks: list[int], states: Sequence[RankState]) -> str:
    """Return the latest operation of ranks that ended alike."""
    lasts = {issue and (issue.call.op, issue.site) for issue in (states[r].last for r in ranks)}
    last = lasts.pop()
    if last is None or lasts:
        return ""
    return f" after {last[0]}{describe_site(last[1])}"
