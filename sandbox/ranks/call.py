"""One call on the ranks: wait for it, and find out what went wrong."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sandbox import failure
from sandbox.errors import (
    CollectiveMismatchError,
    DeadlockError,
    PlacesJoinedError,
    RankDiedError,
    RankError,
    RankTimeoutError,
    SandboxError,
)
from sandbox.failure import name_ranks
from sandbox.faults.fault import Fault
from sandbox.faults.join import Join
from sandbox.faults.kill import Kill
from sandbox.proving.monitor import Monitor
from sandbox.proving.problem import ProblemKind
from sandbox.ranks.crew import Crew
from sandbox.ranks.member import Member, State, read_available
from sandbox.ranks.output import Echo, Output
from sandbox.ranks.states import describe_deaths, describe_state

TICK_S = 0.02  # how often records are read and judged; results are taken at once
ECHO_GRACE_S = 0.3  # after a first failure: others with the same one join the message
ANSWER_GRACE_S = 0.2  # for a rank to say which line it is in
# What gloo prints beside these errors, which say it with ranks and lines.
EXPLAINED: dict[type[SandboxError], tuple[Echo, ...]] = {
    CollectiveMismatchError: (Echo.ABORT, Echo.NO_MESH),
    RankDiedError: (Echo.NO_MESH,),
    RankError: (Echo.NO_MESH,),
}


@dataclass(frozen=True)
class Trouble:
    """What went wrong: an exception that still lacks its Run."""

    error: type[SandboxError]
    message: str
    known: dict[str, Any]


class Call:
    """The caller's side of one call, from the first message to its outcome."""

    def __init__(
        self,
        crew: Crew,
        monitor: Monitor,
        output: Output,
        faults: Sequence[Fault],
        timeout_s: float,
    ) -> None:
        self.crew = crew
        self.monitor = monitor
        self.output = output
        self.faults = faults
        self.timeout_s = timeout_s
        self.first_failure_s: float | None = None

    def wait(self) -> Trouble | None:
        """Return when every rank has settled, or as soon as something is known to be wrong."""
        deadline_s = time.monotonic() + self.timeout_s
        while True:
            next_look_s = time.monotonic() + TICK_S
            is_over = self.crew.wait_until(self._is_over, min(deadline_s, next_look_s))
            trouble = self._look()
            if trouble is None and not is_over and time.monotonic() >= deadline_s:
                trouble = self._time_out()
            if trouble or (is_over and self.first_failure_s is None):
                self.output.explain(EXPLAINED.get(trouble.error, ()) if trouble else ())
                self.drain()
                return trouble

    def describe(self) -> list[str]:
        """Say, one line per state, what the ranks are doing."""
        self._read_records()
        self._ask_sites()
        return self._describe(self.crew.members)

    def interrupt(self, grace_s: float) -> list[int]:
        """Interrupt the ranks that still run, kill those that do not react, and return these."""
        for _ in range(2):  # the first is ignored by a rank that has not begun its call yet
            self.crew.signal(self.crew.busy(), signal.SIGINT)
            self.crew.wait_until(lambda: not self.crew.busy(), time.monotonic() + grace_s / 2)
        lost = self.crew.busy()
        self.crew.kill(lost)
        self.drain()
        return [member.rank for member in lost]

    def drain(self) -> None:
        """Take in what the ranks have published and printed, to the last line."""
        self._read_records()
        for member in self.crew.members:
            while data := read_available(member.output):
                self.output.feed(member.rank, data, time.monotonic())
        self.output.flush(time.monotonic(), everything=True)

    def _is_over(self) -> bool:
        return not self.crew.busy() or (
            self.first_failure_s is None and any(map(_has_failed, self.crew.members))
        )

    def _read_records(self) -> None:
        for member in self.crew.members:
            for record in member.read_records():
                self.monitor.feed(member.rank, record)

    def _look(self) -> Trouble | None:
        """Tell the monitor what has happened since the last look; return the trouble it proves."""
        self._read_records()
        self.output.flush(time.monotonic())
        members = self.crew.members
        for member in members:
            if _has_failed(member):
                self.monitor.died(member.rank)
            elif member.is_done:
                self.monitor.finished(member.rank)
        # While ranks run, a mismatch may wait a moment for the member that shows who is wrong.
        problem = self.monitor.problem(time.monotonic() if self.crew.busy() else None)
        if problem is not None and problem.kind is ProblemKind.MISMATCH:
            kind: type[SandboxError] = CollectiveMismatchError
        elif any(map(_has_failed, members)):
            return self._fail()
        elif problem is not None and not (problem.is_by_store and self.crew.has_children()):
            kind = DeadlockError  # (a child of a rank could yet set the key of a store)
        else:
            return self._join()
        known = {"rank": problem.rank, "site": problem.site, "waits": problem.waits}
        return Trouble(kind, problem.message, known)

    def _fail(self) -> Trouble | None:
        """Report failures once the others had a moment to fail alike, or wait for them."""
        now_s = time.monotonic()
        self.first_failure_s = self.first_failure_s or now_s
        blocked = all(self.monitor.is_blocked(member.rank) for member in self.crew.busy())
        if not blocked and now_s - self.first_failure_s < ECHO_GRACE_S:
            return None
        members = self.crew.members
        dead = [member for member in members if member.died_in_call]
        if dead:
            injected = self.monitor.journal.injected(self.faults)
            killed = {each.rank for each in injected if isinstance(each.fault, Kill)}
            message = self._with_others(describe_deaths(dead, killed, self.monitor.journal))
            if any((member.ended or "").startswith("exited") for member in dead):
                message += "\nHint: os._exit, or an exit in C++ code, ends a rank; return instead."
            last = self.monitor.journal.last(dead[0].rank)
            known = {"rank": dead[0].rank, "site": last and last.site}
            return Trouble(RankDiedError, message, known)
        failures = {m.rank: m.outcome for m in members if m.state is State.FAILED}
        culprit, message = failure.describe(failures)
        what = failures[culprit]
        known = {
            "rank": culprit,
            "site": what.site,
            "exc_type": what.exc_type,
            "exc_message": what.exc_message,
            "traceback_text": what.render(),
        }
        return Trouble(RankError, self._with_others(message), known)

    def _join(self) -> Trouble | None:
        """Stop the ranks if rank 0 waits for that, as places for more have come."""
        if any(isinstance(fault, Join) for fault in self.faults):
            for each in self.monitor.journal.injected(self.faults):
                if isinstance(each.fault, Join):
                    return Trouble(PlacesJoinedError, f"{each.fault!r} stopped the ranks.", {})
        return None

    def _time_out(self) -> Trouble:
        """Name, per rank, what it waits in or the line it runs; a stopped process is said to be."""
        busy = self.crew.busy()
        running = self._ask_sites()
        lines = f"{name_ranks([m.rank for m in busy])} still ran after {self.timeout_s:g} s."
        culprit = (running or busy)[0]
        message = (
            self._with_others(lines)
            + "\nHint: give it longer with timeout_s=…, in %%ranks with --timeout …"
        )
        return Trouble(RankTimeoutError, message, {"rank": culprit.rank, "site": culprit.site})

    def _ask_sites(self) -> list[Member]:
        """Have the ranks that run say which line they are in; return these ranks."""
        busy = self.crew.busy()
        self.crew.signal(busy, signal.SIGUSR1)
        running = [m for m in busy if not self.monitor.waiting(m.rank) and not m.is_stopped]
        self.crew.wait_until(lambda: self._know_sites(running), time.monotonic() + ANSWER_GRACE_S)
        return running

    def _know_sites(self, members: list[Member]) -> bool:
        self._read_records()
        return all(member.site for member in members)

    def _with_others(self, message: str) -> str:
        """Append what each rank that has neither failed nor died is doing."""
        others = [member for member in self.crew.members if not _has_failed(member)]
        return "\n".join([message, *self._describe(others)])

    def _describe(self, members: list[Member]) -> list[str]:
        states = {m.rank: describe_state(m, self.monitor, self.faults) for m in members}
        return failure.describe_others(states)


def _has_failed(member: Member) -> bool:
    return member.state is State.FAILED or member.died_in_call
