"""When what the records say is certain: a call may yet be refused, an effect come a moment late."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sandbox.proving.deadlock import RankState
from sandbox.proving.operation import Operation

# How long a mismatch or a deadlock waits for the other ranks, so that the odd one out can be told.
SETTLE_S = 0.2
# Without a further record of a rank, its backend may yet refuse the call; no longer than this.
CONFIRM_S = 1.0
# How long ranks must have been silent: callbacks of what has just completed run in no known thread.
QUIET_S = 0.05
# How long after the last news of any rank a store must still lack a key, and no signal have come:
# what a rank did last may reach another a moment later.
LOOK_AGAIN_S = 0.1


class Certainty:
    """What was heard when; all times are those of time.monotonic()."""

    def __init__(self, states: Sequence[RankState]) -> None:
        self._states = states
        self._stuck_s: float | None = None  # when the present deadlock was first seen
        self._news_s: float | None = None  # None: something happened since the last question

    def note_news(self) -> None:
        """Note that a rank has done something."""
        self._news_s = None

    def begin_question(self, now_s: float) -> None:
        """Note that all that has happened was heard by now."""
        if self._news_s is None:
            self._news_s = now_s

    def note_no_deadlock(self) -> None:
        """Note that nobody is stuck at present."""
        self._stuck_s = None

    def of_mismatch(
        self, operation: Operation, is_blocked: Callable[[int], bool], now_s: float
    ) -> bool:
        """Whether all calls stand, and no other is about to show which side is the odd one."""
        has_death = any(state.has_died for state in self._states)
        first_s = min(issue.time_s for issue in operation.issued.values())
        return all(
            now_s - issue.time_s > CONFIRM_S
            or self._states[rank].unconfirmed != issue.number
            or self._states[rank].has_ended
            for rank, issue in operation.issued.items()
        ) and all(
            now_s - first_s > SETTLE_S
            or self._states[rank].has_ended
            or is_blocked(rank)
            or (has_death and self._states[rank].waits)  # perhaps for the one that died
            for rank in operation.missing
        )

    def of_deadlock(self, stuck: Collection[int], now_s: float) -> bool:
        """Whether nothing that ranks did can still let one go on, and no other is about to join."""
        self._stuck_s = self._stuck_s or now_s
        states = [self._states[rank] for rank in stuck]
        looks = [wait.waiting.checked_s for state in states for wait in state.waits.values()]
        looked_s = LOOK_AGAIN_S + (self._news_s or now_s)
        is_complete = all(s.has_ended or rank in stuck for rank, s in enumerate(self._states))
        return (
            all(now_s - state.heard_s >= QUIET_S for state in states)
            and all(look is None or look >= looked_s for look in looks)
            and (is_complete or now_s >= self._stuck_s + SETTLE_S)
        )
