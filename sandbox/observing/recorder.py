"""The rank's side of the ledger: numbers its events and publishes them before the rank blocks."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from sandbox.observing import callsite, signals
from sandbox.observing.record import Call, Waiting
from sandbox.observing.threads import Siblings
from sandbox.observing.unwaited import Unwaited

if TYPE_CHECKING:
    from sandbox.faults.links import Links

# A wait that gives up sooner was meant to, so it is no sign of a deadlock: its program goes on.
IMPATIENT_S = 300.0
ARMED_TIMER = 0  # among the threads that may act: its handler will run in one of them
# Who waits no longer has found the operation complete: not worth a record of its own.
BLOCKED_S = 20e-6


class Lane:
    """One order of collectives: a group, on one kind of device."""

    def __init__(self, gid: str, ranks: tuple[int, ...]) -> None:
        self.gid = gid
        self.ranks = ranks
        self.next_seq = 0  # the creation of the group; collectives count from 1


class Recorder:
    """Publishes what this rank issues, waits for and completes."""

    def __init__(self, rank: int, publish: Callable[[tuple], None]) -> None:
        self.rank = rank
        self.publish = publish
        # Set while faults are injected: called before an operation is issued, and what delays it.
        self.before_issue: Callable[[str], None] | None = None
        self.links: Links | None = None
        self.watch: Callable[[Sequence[Any]], None] | None = None  # sees the arguments of each call
        self.unwaited = Unwaited()
        self._passed: list[tuple[Published, tuple]] = []  # and their ends, not published yet
        self._numbers = itertools.count()
        self._siblings = threading.local()

    def tell_unwaited(self, *, is_over: bool) -> None:
        """Publish what nobody has waited for, nor will, now that a call has ended well."""
        for op, site in self.unwaited.take(is_over=is_over):
            self.publish(("unwaited", op, site))

    def announce(self, lane: Lane) -> None:
        """Publish that a group exists, or that its creation begins."""
        self.publish(("group", lane.gid, lane.ranks))

    def issue(
        self,
        lane: Lane,
        call: Call,
        frame: FrameType,
        *,
        in_order: bool = True,
        is_async: bool = False,
    ) -> Published:
        """Publish one call that is about to start."""
        self.release_ends()
        if self.before_issue is not None:
            self.before_issue(call.op)
        seq = None
        if in_order:
            seq, lane.next_seq = lane.next_seq, lane.next_seq + 1
        event = Published(self, next(self._numbers), lane, seq)
        site = callsite.find(frame)
        time_s = time.monotonic()
        self.publish(("issue", event.number, lane.gid, seq, is_async, tuple(call), site, time_s))
        return event

    def hold_end(self, event: Published, end: tuple) -> None:
        """Publish the end of what a GPU waits for with the next operation, or at the call's end."""
        self._passed.append((event, end))

    def release_ends(self) -> None:
        """Publish the ends that are held: the rank shows that it goes on."""
        while self._passed:
            event, end = self._passed.pop()
            event.publish_end(*end)

    def siblings(self) -> Siblings:
        """Return what the calling thread last saw of the others."""
        if not hasattr(self._siblings, "seen"):
            self._siblings.seen = Siblings()
        return self._siblings.seen


class Published:
    """One event of this rank that the monitor knows about."""

    def __init__(self, recorder: Recorder, number: int, lane: Lane, seq: int | None) -> None:
        self.number = number
        self._recorder = recorder
        self._lane = lane
        self._seq = seq
        self._waiting: Waiting | None = None
        self._has_ended = False

    @property
    def is_first(self) -> bool:
        """Whether it is the first of its group, the group's creation aside."""
        return self._seq == 1

    def wait(self, checked_s: float | None = None, *, on_stream: bool = False) -> None:
        """Publish that the calling thread is blocked in this event, if that is news.

        `checked_s` (of time.monotonic) is when the key of a store was last seen not to be set. A
        rank that may be let go by a signal tells again and again that none has come. With
        `on_stream` it is the GPU that waits, and the thread only if it asks for a result.
        """
        others = self._recorder.siblings().running()
        if signals.timer_is_armed():
            others = (*others, ARMED_TIMER)
        hears_signals = signals.hears_signals()
        if hears_signals and checked_s is None:
            checked_s = time.monotonic()
        waiting = Waiting(threading.get_ident(), others, hears_signals, checked_s, on_stream)
        if waiting != self._waiting:
            self._waiting = waiting
            self._recorder.publish(("wait", self.number, self._lane.gid, self._seq, tuple(waiting)))

    def settle(self) -> None:
        """Note that somebody waits for the event, or asks whether it is complete."""
        self._recorder.unwaited.settle(self.number)

    def end(self, since_s: float | None = None) -> None:
        """Publish the completion if that is news, or that the calling thread waits no longer.

        `since_s` (of time.monotonic) is when it began to wait.
        """
        has_blocked = since_s is not None and time.monotonic() - since_s > BLOCKED_S
        if self._waiting is not None or has_blocked or not self._has_ended:
            self.complete(since_s)
            self._waiting = None

    def end_on_stream(self, since_s: float) -> None:
        """Note that the calling thread goes on while its GPU still waits, which has no sign.

        A rank that stays silent from here on waits for the GPU: its end is published only later.
        """
        self._recorder.hold_end(self, (time.monotonic(), threading.get_ident(), since_s))

    def complete(self, since_s: float | None = None) -> None:
        """Publish the completion. May run in a thread of the backend."""
        self.publish_end(time.monotonic(), threading.get_ident(), since_s)

    def publish_end(self, time_s: float, thread: int, since_s: float | None) -> None:
        """Publish that the operation was complete at a time, as a thread says."""
        self._has_ended = True
        self._recorder.publish(("end", self.number, time_s, thread, since_s))

    def leave(self) -> None:
        """Publish that the calling thread gave up waiting, and the event is not complete."""
        if self._waiting is not None:
            self._waiting = None
            self._recorder.publish(("end", self.number, None, threading.get_ident(), None))

    def withdraw(self) -> None:
        """Publish that the backend refused the call, and free its place in the order."""
        if self._seq is not None:
            self._lane.next_seq -= 1
        self._recorder.publish(("withdraw", self.number, self._lane.gid, self._seq))
