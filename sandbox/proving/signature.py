"""Do the members of a group agree on a collective? Compares what each issued, and says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

from sandbox.event import Op
from sandbox.failure import name_ranks
from sandbox.observing.record import Call, Sizes
from sandbox.proving.operation import Operation
from sandbox.proving.wait_for import WaitFor
from sandbox.proving.wording import describe_call, describe_site, list_ranks


class Disagreement(NamedTuple):
    """What members disagree on, the ranks that stand apart and the ones that they stand against.

    Where no value is that of most, all stand apart, and there are no others.
    """

    what: str
    culprits: list[int]
    theirs: Hashable
    others: list[int]
    usual: Hashable


def find_disagreement(calls: Mapping[int, Call], ranks: tuple[int, ...]) -> Disagreement | None:
    """Compare the calls of those members, of all the group's `ranks`, that have issued theirs.

    They must agree on operation, dtype, reduction and root, and what one sends to another must be
    what that one expects. Shapes may differ: (4,) and (2, 2) hold the same elements. A send and the
    recv that it meets must agree on dtype and number of elements.
    """
    if any(Op(call.op).is_point_to_point and call.tag is not None for call in calls.values()):
        return _compare_message(calls)
    for what, read in _MUST_AGREE:
        values = {rank: read(call) for rank, call in calls.items()}
        if len(set(values.values())) > 1:
            return _odd_one_out(what, values)
    if all(type(c.gives) is int and c.gives == c.takes for c in calls.values()):
        numels = {rank: call.gives for rank, call in calls.items()}
        return _odd_one_out("number of elements", numels) if len(set(numels.values())) > 1 else None
    return _compare_pairs(calls, ranks)


_MUST_AGREE: tuple[tuple[str, Callable[[Call], Hashable]], ...] = (
    ("operation", lambda call: call.op),
    ("dtype", lambda call: call.dtype),
    ("reduction", lambda call: call.reduce_op),
    ("root", lambda call: call.root),
)


def _odd_one_out(what: str, values: Mapping[int, Hashable]) -> Disagreement:
    """Tell apart the ranks whose value the fewest share; if all do, not those of the first rank.

    Of three values or more, all are told: those beside the usual one, or all where there is none.
    """
    counts = Counter(values.values())
    if len(counts) > 2:
        (usual, most), (_, second), *_ = counts.most_common()
        others = [rank for rank in values if values[rank] == usual] if most > second else []
        apart = sorted(values.keys() - set(others))
        *several, last = dict.fromkeys(str(values[rank]) for rank in apart)
        return Disagreement(what, apart, f"{', '.join(several)} and {last}", others, usual)
    first = values[min(values)]
    by_rarity = sorted(counts, key=lambda value: (counts[value], value == first, str(value)))
    theirs, usual = by_rarity[0], by_rarity[-1]
    return Disagreement(
        what,
        sorted(rank for rank in values if values[rank] == theirs),
        theirs,
        sorted(rank for rank in values if values[rank] == usual),
        usual,
    )


def _compare_message(calls: Mapping[int, Call]) -> Disagreement | None:
    """Compare a send with the recv that it meets: gloo would fill a part, or end the process."""
    sender, receiver = sorted(calls, key=lambda rank: calls[rank].op, reverse=True)
    sent, taken = (f"{calls[rank].numel} {calls[rank].dtype}" for rank in (sender, receiver))
    return None if sent == taken else Disagreement("message", [sender], sent, [receiver], taken)


def _compare_pairs(calls: Mapping[int, Call], ranks: tuple[int, ...]) -> Disagreement | None:
    """Check for every pair that what i gives to j is what j takes from i."""
    wrong = []
    for i, giver in calls.items():
        for j, taker in calls.items():
            gives = _size(giver.gives, ranks.index(j))
            takes = _size(taker.takes, ranks.index(i))
            if gives is not None and takes is not None and gives != takes:
                wrong.append((i, gives, j, takes))
    if not wrong:
        return None
    counts = Counter(rank for i, _, j, _ in wrong for rank in {i, j})
    culprit = max(counts, key=lambda rank: (counts[rank], rank))
    involved = [pair for pair in wrong if culprit in (pair[0], pair[2])]
    i, gives, j, takes = min(involved, key=lambda pair: (pair[0], pair[2]))
    sends = f"{gives} elements sent to rank {j}"
    expects = f"{takes} expected from rank {i}"
    if culprit == i:
        return Disagreement("sizes", [i], sends, [j], expects)
    return Disagreement("sizes", [j], expects, [i], sends)


def _size(sizes: Sizes, index: int) -> int | None:
    return sizes[index] if isinstance(sizes, tuple) else sizes


def describe_disagreement(
    operation: Operation, found: Disagreement
) -> tuple[str, tuple[WaitFor, ...]]:
    """Return the message, the culprit first, and what each member has called where."""
    who, against = name_ranks(found.culprits), name_ranks(found.others)
    if found.what == "operation" and not found.others:
        headline = (
            f"{who} called {found.theirs} where all must call the same "
            f"(collective #{operation.seq} of {operation.group})."
        )
    elif not found.others:
        headline = f"{who} disagree on the {found.what} of {operation.name()}: {found.theirs}."
    elif found.what == "operation":
        headline = (
            f"{who} called {found.theirs} where {against} called {found.usual} "
            f"(collective #{operation.seq} of {operation.group})."
        )
    elif found.what == "sizes":
        headline = (
            f"{who} and {against} disagree on the sizes of {operation.name()}: "
            f"{found.theirs}, {found.usual}."
        )
    elif found.what == "message":
        headline = f"{who} sent {found.theirs} where {against} expected {found.usual}."
    else:
        headline = (
            f"{who} called {operation.name()} with another {found.what} than {against}: "
            f"{found.theirs} against {found.usual}."
        )
    lines = {
        rank: f"{describe_call(issue.call)}{describe_site(issue.site)}"
        for rank, issue in operation.issued.items()
    }
    waits = tuple(
        WaitFor(
            rank=rank,
            op=Op(issue.call.op),
            group=operation.members,
            waits_for=tuple(operation.missing),
            site=issue.site,
            text=lines[rank],
        )
        for rank, issue in operation.issued.items()
    )
    return headline + list_ranks(lines, found.culprits), waits
