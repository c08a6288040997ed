"""Follows what all ranks publish, outside of them: ledger, mismatches, proofs of deadlock."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.event import Op
from sandbox.journal import Journal
from sandbox.ledger import Ledger
from sandbox.observing.record import NO_GROUP, Call, Issue, Waiting
from sandbox.proving.blame import describe_wait, find_deadlock
from sandbox.proving.certainty import Certainty
from sandbox.proving.deadlock import RankState, Wait
from sandbox.proving.group_calls import GroupCall, GroupCalls
from sandbox.proving.group_meetings import GroupMeetings
from sandbox.proving.messages import Messages
from sandbox.proving.operation import Key, Operation
from sandbox.proving.problem import Problem, ProblemKind
from sandbox.proving.signature import describe_disagreement, find_disagreement
from sandbox.proving.store_waits import StoreWaits
from sandbox.proving.wording import describe_site

_NO_CALLBACKS = (Op.REDUCE_SCATTER.value, Op.SEND.value, Op.RECV.value)  # gloo gives no future


class Monitor:
    """The records of all ranks of a world, call after call. Numbers of collectives live on."""

    def __init__(self, world_size: int) -> None:
        self._states = [RankState() for _ in range(world_size)]
        self.journal = Journal()
        self._pending: dict[Key, Operation] = {}
        self._disputed: dict[Key, Operation] = {}
        self._latest: dict[str, Operation] = {}  # the last one that all members have issued
        self._messages = Messages()
        self._store_waits = StoreWaits(world_size)
        self._group_calls = GroupCalls(world_size)
        self._group_meetings = GroupMeetings(world_size)
        self._certainty = Certainty(self._states)

    def begin_call(self, start_s: float) -> None:
        """Begin another call: no events yet, and collectives are counted from 1 again."""
        self.journal.begin_call(start_s)
        self._certainty.note_news()
        for state in self._states:
            state.has_finished = state.has_died = False

    def feed(self, rank: int, record: tuple) -> None:
        """Take in one record of `rank`; each rank's must come in the order of their publication."""
        kind, *fields = record
        if kind == "memory":
            self.journal.add_memory(rank, tuple(fields))
            return
        if _confirms(kind, fields, self._states[rank].unconfirmed):
            self._states[rank].unconfirmed = None
        if not (kind == "wait" and self._repeats(rank, *fields)):
            self._certainty.note_news()
        if kind == "group":
            gid, ranks = fields
            self.journal.add_group(gid, tuple(ranks))
        elif kind == "new_group":
            members, site, place, time_s = fields
            call = GroupCall(tuple(members), site)
            self._group_calls.add(rank, call)
            self._group_meetings.begin(rank, tuple(place), call, time_s)
        elif kind == "new_group_end":
            place, is_refused = fields
            self._group_meetings.end(rank, tuple(place), is_refused)
        elif kind == "issue":
            self._take_issue(rank, fields)
        elif kind == "wait":
            number, gid, seq, waiting = fields
            self._take_wait(rank, number, self._key(rank, number, gid, seq), Waiting(*waiting))
        elif kind == "end":
            self._take_end(rank, *fields)
        elif kind == "withdraw":
            number, gid, seq = fields
            self._take_withdrawal(rank, number, gid, seq)
        elif kind == "mark":
            self.journal.add_mark(rank, *fields)
        elif kind == "unwaited":
            self.journal.add_unwaited(rank, *fields)
        elif kind == "step":
            self.journal.add_step(rank, *fields)
        elif kind == "fault":
            self.journal.add_fault(*fields)
        else:
            raise AssertionError(kind)

    def finished(self, rank: int) -> None:
        """Note that the rank's function and all its threads have ended; its records are all in."""
        if not self._states[rank].has_finished:
            self._states[rank].has_finished = True
            self._certainty.note_news()

    def died(self, rank: int) -> None:
        """Note that the rank raised or is gone: others may now fail, and prove nothing."""
        if not self._states[rank].has_died:
            self._states[rank].has_died = True
            self._certainty.note_news()

    def problem(self, now_s: float | None = None) -> Problem | None:
        """Return what is proven to be wrong.

        With `now_s` (of time.monotonic), a mismatch may wait a moment for the other members, and a
        deadlock until its ranks have been silent for a moment.
        """
        if now_s is not None:
            self._certainty.begin_question(now_s)
        if conflict := self._group_meetings.find_conflict(now_s):
            return Problem(ProblemKind.MISMATCH, *conflict)
        for operation in self._disputed.values():
            found = find_disagreement(operation.calls, operation.ranks)
            if found and (
                now_s is None or self._certainty.of_mismatch(operation, self.is_blocked, now_s)
            ):
                message, waits = describe_disagreement(operation, found)
                culprit = found.culprits[0] if found.others else None
                site = operation.issued[found.culprits[0]].site
                waiting = {wait.rank: wait.text for wait in waits}
                return Problem(ProblemKind.MISMATCH, culprit, message, site, waiting, waits)
        deadlock = None
        if not self._disputed and not self._group_meetings.are_disputed:
            deadlock = find_deadlock(self._states, self._lacking(), self._group_calls)
        if deadlock is None:
            self._certainty.note_no_deadlock()
            return None
        if now_s is not None and not self._certainty.of_deadlock(deadlock.waiting, now_s):
            return None
        return Problem(ProblemKind.DEADLOCK, *deadlock)

    def is_blocked(self, rank: int) -> bool:
        """Whether the rank can do nothing until another one joins an operation."""
        return self._states[rank].is_blocked(self._lacking())

    def waiting(self, rank: int) -> str | None:
        """Return what the rank is blocked in, in one line; None where it has more to do."""
        state, pending = self._states[rank], self._lacking()
        if state.is_blocked(pending):
            return describe_wait(state, rank, pending)
        threads = state.waits.keys()
        for wait in state.waits.values():
            issue = self.journal.find(rank, wait.number)
            if wait.waiting.on_stream or issue is None or not threads >= set(wait.waiting.others):
                return None
            if wait.key not in pending:
                told = "" if issue.seq is None else " (issued by all of them)"
                return f"in {self.journal.name(issue)}{told}{describe_site(issue.site)}"
        return None

    def undelivered(self, rank: int) -> list[tuple[Issue, bool]]:
        """Return what all its ranks have issued and `rank` has not seen end; does it wait there?"""
        state, lacking = self._states[rank], self._lacking()
        awaited = {wait.number: wait.key for wait in state.waits.values()}
        numbers = [n for n, key in {**state.in_flight, **awaited}.items() if key not in lacking]
        issues = [self.journal.find(rank, number) for number in sorted(numbers)]
        return [(issue, issue.number in awaited) for issue in issues if issue is not None]

    def is_balanced(self) -> bool:
        """Whether nothing is left over that a later call on the same groups would run into."""
        disputed = self._disputed or self._group_meetings.are_disputed
        return not self._pending and not disputed and not self._messages.has_running

    def ledger(self) -> Ledger:
        """Return the events of this call so far."""
        return Ledger(self.journal.events(), self.journal.marks(), len(self._states))

    # -- records --------------------------------------------------------------------------------

    def _take_issue(self, rank: int, fields: list) -> None:
        number, gid, seq, is_async, call, site, time_s = fields
        issue = Issue(number, gid, seq, is_async, Call(*call), site, time_s)
        self.journal.add(rank, issue)
        self._states[rank].heard_s = time_s
        self._states[rank].unconfirmed = number
        if seq != 0:
            self._states[rank].last = issue
        if gid == NO_GROUP:
            self._store_waits.issue(rank, issue)
        elif seq is None:
            self._meet(rank, issue)
        else:
            self._join(rank, (gid, seq), issue)
            if is_async and issue.call.op not in _NO_CALLBACKS:
                self._states[rank].in_flight[number] = (gid, seq)

    def _key(self, rank: int, number: int, gid: str, seq: int | None) -> Key:
        """Return what tells the operation of a rank's call from others."""
        if seq is not None:
            return gid, seq
        return self._store_waits.find(rank, number) or (rank, number)

    def _meet(self, rank: int, issue: Issue) -> None:
        """Take in a send or recv, and compare it with the one that it meets."""
        message = self._messages.issue(rank, issue, self.journal.ranks_of(issue.gid))
        if message.partner is None:
            return
        other = message.partner
        operation = other.as_operation()
        operation.issued[rank] = issue
        if find_disagreement(operation.calls, operation.ranks):
            self._disputed[other.rank, other.issue.number] = operation

    def _lacking(self) -> Mapping[Key, Operation]:
        """Return all operations that lack a rank."""
        return {**self._pending, **self._messages.lacking(), **self._store_waits.operations}

    def _join(self, rank: int, key: Key, issue: Issue) -> None:
        """Add one member's call to the operation of its group, and compare it with the others'."""
        operation = self._pending.get(key)
        if operation is None:
            operation = self._pending[key] = Operation(
                self.journal.name_group(issue),
                self.journal.number(issue),
                self.journal.ranks_of(issue.gid),
                self.journal.ranks_of(issue.gid),
            )
        operation.issued[rank] = issue
        first = next(iter(operation.issued.values()))
        is_alike = _is_alike(issue.call, first.call)
        if not is_alike and find_disagreement(operation.calls, operation.ranks):
            self._disputed[key] = operation
        if not operation.missing:
            del self._pending[key]
            self._latest[issue.gid] = operation
            self.journal.complete(issue.gid, issue.seq or 0)

    def _take_wait(self, rank: int, number: int, key: Key, waiting: Waiting) -> None:
        self._states[rank].waits[waiting.thread] = Wait(key, number, waiting)

    def _repeats(self, rank: int, number: int, _: str, __: int | None, waiting: tuple) -> bool:
        """Whether a wait says only that still nothing has come."""
        wait = self._states[rank].waits.get(waiting[0])
        if wait is None or wait.number != number:
            return False
        return wait.waiting._replace(checked_s=None) == Waiting(*waiting)._replace(checked_s=None)

    def _take_end(
        self,
        rank: int,
        number: int,
        time_s: float | None,
        thread: int,
        since_s: float | None = None,
    ) -> None:
        self._store_waits.end(rank, number)
        waits = self._states[rank].waits
        for waiter, wait in list(waits.items()):
            if wait.number == number and (time_s is not None or waiter == thread):
                del waits[waiter]
        if time_s is not None:
            self._states[rank].heard_s = time_s
            self._states[rank].in_flight.pop(number, None)
            self.journal.end(rank, number, time_s, since_s)
            self._messages.end(rank, number)

    def _take_withdrawal(self, rank: int, number: int, gid: str, seq: int | None) -> None:
        """Forget a call that the backend refused: its members lack this one again."""
        self.journal.remove(rank, number)
        state = self._states[rank]
        state.in_flight.pop(number, None)
        state.waits = {t: wait for t, wait in state.waits.items() if wait.number != number}
        if seq is None:
            self._part(rank, number)
            return
        key = (gid, seq)
        operation = self._pending.get(key) or self._latest.get(gid)
        issue = operation.issued.get(rank) if operation else None
        if operation is None or issue is None or issue.number != number:
            return
        del operation.issued[rank]
        if key not in self._pending:
            self._pending[key] = operation
            self.journal.complete(gid, seq - 1)
        if not operation.issued:
            del self._pending[key]
        if key in self._disputed and not find_disagreement(operation.calls, operation.ranks):
            del self._disputed[key]

    def _part(self, rank: int, number: int) -> None:
        """Forget a send or recv: the one that it has met lacks one again."""
        message = self._messages.withdraw(rank, number)
        self._disputed.pop((rank, number), None)
        if message is not None and message.partner is not None:
            self._disputed.pop((message.partner.rank, message.partner.issue.number), None)


def _confirms(kind: str, fields: list, number: int | None) -> bool:
    """Whether a record says that the backend has accepted the rank's last issue, `number`."""
    if kind == "end":
        return fields[0] == number  # an earlier one's: the backend's own thread
    return kind != "wait" or not Waiting(*fields[-1]).on_stream  # which is told before the start


def _is_alike(call: Call, other: Call) -> bool:
    """Whether two calls agree at first sight, as nearly all do."""
    op, _, *rest = call
    other_op, _, *others = other
    return op == other_op and rest == others and call.gives == call.takes
