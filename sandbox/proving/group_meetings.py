"""Do ranks that torch lets meet in one call of new_group want the same group?"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.event import Op
from sandbox.failure import name_ranks
from sandbox.proving.certainty import SETTLE_S
from sandbox.proving.group_calls import HINT, GroupCall
from sandbox.proving.wait_for import WaitFor
from sandbox.proving.wording import describe_site, list_ranks

# torch checks the arguments before a call is told; a backend that cannot be made fails by then.
ACCEPT_S = 0.3
Place = tuple[int, str]  # how often the default group was made; torch's number of the call


@dataclass
class Attempt:
    """One rank's call."""

    call: GroupCall
    time_s: float
    has_ended: bool = False

    def stands(self, now_s: float | None) -> bool:
        """Whether torch has accepted the call: it refuses at once what it refuses."""
        return self.has_ended or now_s is None or now_s - self.time_s > ACCEPT_S


class Conflict(NamedTuple):
    """The proof in words: the odd one out if there is one, its line, and each rank's call."""

    rank: int | None
    message: str
    site: str | None
    waiting: dict[int, str]
    waits: tuple[WaitFor, ...]


class GroupMeetings:
    """What each rank has called where torch's number of the call is the same.

    Torch names a group by that number alone: members of different groups meet under one name, and
    then hang, fail or go on, as chance has it. Ranks that name a group without themselves, or
    nobody else, meet nobody.
    """

    def __init__(self, world_size: int) -> None:
        self._world_size = world_size
        self._attempts: dict[Place, dict[int, Attempt]] = defaultdict(dict)
        self._disputed: set[Place] = set()

    @property
    def are_disputed(self) -> bool:
        """Whether ranks met that want different groups."""
        return bool(self._disputed)

    def begin(self, rank: int, place: Place, call: GroupCall, time_s: float) -> None:
        """Note that `rank` calls new_group."""
        self._attempts[place][rank] = Attempt(call, time_s)
        self._judge(place)

    def end(self, rank: int, place: Place, is_refused: bool) -> None:
        """Note that a call has returned, or that torch refused it: then it meets nobody."""
        if is_refused:
            del self._attempts[place][rank]
            self._judge(place)
        else:
            self._attempts[place][rank].has_ended = True

    def find_conflict(self, now_s: float | None) -> Conflict | None:
        """Return what is certain by `now_s` (of time.monotonic), or now that all has ended."""
        for place in self._disputed:
            attempts = self._attempts[place]
            first_s = min(attempt.time_s for attempt in attempts.values())
            is_complete = len(attempts) == self._world_size
            may_tell = now_s is None or is_complete or now_s - first_s > SETTLE_S
            standing = {r: a.call for r, a in attempts.items() if a.stands(now_s)}
            if may_tell and _clash(standing):
                calls = {rank: attempts[rank].call for rank in sorted(attempts)}
                return _describe(calls, int(place[1]))
        return None

    def _judge(self, place: Place) -> None:
        attempts = self._attempts[place]
        self._disputed.discard(place)
        if _clash({rank: attempt.call for rank, attempt in attempts.items()}):
            self._disputed.add(place)


def _clash(calls: dict[int, GroupCall]) -> bool:
    """Whether two members, each of a group of several, named different ones."""
    wanted = {c.members for rank, c in calls.items() if rank in c.members and len(c.members) > 1}
    return len(wanted) > 1


def _describe(calls: dict[int, GroupCall], number: int) -> Conflict:
    """Say who called what where; to blame are those beside what most have called."""
    (usual, most), *rest = Counter(call.members for call in calls.values()).most_common()
    has_majority = all(count < most for _, count in rest)
    culprits = [rank for rank, call in calls.items() if has_majority and call.members != usual]
    others = [rank for rank in calls if rank not in culprits]
    if culprits:
        theirs = " and ".join(dict.fromkeys(str(calls[rank]) for rank in culprits))
        headline = (
            f"{name_ranks(culprits)} called {theirs} where {name_ranks(others)} called "
            f"{calls[others[0]]} (call #{number} of new_group)."
        )
    else:
        headline = f"{name_ranks(others)} called new_group with different members (call #{number})."
    lines = {rank: f"{call}{describe_site(call.site)}" for rank, call in calls.items()}
    waits = tuple(
        WaitFor(rank, Op.NEW_GROUP, call.members, (), call.site, lines[rank])
        for rank, call in calls.items()
    )
    message = f"{headline}{list_ranks(lines, culprits)}\nHint: {HINT}"
    site = calls[(culprits or others)[0]].site
    return Conflict(culprits[0] if culprits else None, message, site, lines, waits)
