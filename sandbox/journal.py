"""The records of one call of `launch`, kept to become the events of its ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sandbox.event import Event, Mark, Op
from sandbox.failure import name_ranks
from sandbox.faults.fault import Fault
from sandbox.faults.injected import Injected
from sandbox.memory.history import Memory
from sandbox.observing.record import Call, Issue
from sandbox.proving.wording import number_call


class Journal:
    """What every rank has issued in this call, and how groups and collectives are named."""

    def __init__(self) -> None:
        self._groups: dict[str, tuple[int, ...]] = {}
        self._num_complete: dict[str, int] = {}
        self.begin_call(0.0)

    def begin_call(self, start_s: float) -> None:
        """Forget the events; groups stay, and their collectives are counted from 1 again."""
        self._start_s = start_s
        self._issues: dict[tuple[int, int], Issue] = {}
        self._ends: dict[tuple[int, int], float] = {}
        self._marks: list[tuple[int, str, float]] = []
        self._waits: dict[tuple[int, int], float] = {}
        self._num_before = dict(self._num_complete)
        self._steps: dict[int, dict[int, float]] = {}
        # When faults began and ended, by their place in the call's list and their rank.
        self._faults: dict[tuple[int, int], dict[bool, float]] = {}
        self._memory: list[tuple[int, tuple]] = []
        self._unwaited: dict[tuple[str, str], list[int]] = {}

    def add_group(self, gid: str, ranks: tuple[int, ...]) -> None:
        """Note that a group exists."""
        self._groups[gid] = ranks

    def add_mark(self, rank: int, name: str, time_s: float) -> None:
        """Note a moment that `rank` has marked."""
        self._marks.append((rank, name, time_s))

    def add_unwaited(self, rank: int, op: str, site: str) -> None:
        """Note that nobody has waited for an asynchronous operation of `rank`."""
        self._unwaited.setdefault((op, site), []).append(rank)

    def unwaited(self) -> dict[tuple[str, str], list[int]]:
        """Return the ranks of such operations, by operation and line."""
        return self._unwaited

    def add(self, rank: int, issue: Issue) -> None:
        """Note that `rank` issued a call."""
        self._issues[rank, issue.number] = issue

    def end(self, rank: int, number: int, time_s: float, since_s: float | None = None) -> None:
        """Note the completion, and since when a thread has waited; what is told first counts."""
        self._ends.setdefault((rank, number), time_s)
        if since_s is not None:
            self._waits.setdefault((rank, number), since_s)

    def remove(self, rank: int, number: int) -> None:
        """Forget a call that the backend refused."""
        self._issues.pop((rank, number), None)

    def add_step(self, rank: int, number: int, time_s: float) -> None:
        """Note the end of an optimizer step; of several optimizers the last counts."""
        self._steps.setdefault(rank, {})[number] = time_s

    def add_fault(self, number: int, rank: int, time_s: float, is_over: bool) -> None:
        """Note that a fault of the call has happened, or is over; what is told first counts."""
        self._faults.setdefault((number, rank), {}).setdefault(is_over, time_s)

    def injected(self, faults: Sequence[Fault]) -> tuple[Injected, ...]:
        """Return those of the call's faults that have happened, what holds throughout first."""
        throughout = [f for f in faults if not f.tells]
        found = [Injected(f, f.ranks[0] if len(f.ranks) == 1 else None) for f in throughout]
        for (number, rank), times in self._faults.items():
            start_s, end_s = (self._in_call(times.get(is_over)) for is_over in (False, True))
            found.append(Injected(faults[number], rank, start_s, end_s))
        return tuple(sorted(found, key=lambda each: each.start_s or 0.0))

    def steps(self, rank: int) -> list[tuple[int, float]]:
        """Return number and end of each step of a rank, in seconds since the call began."""
        steps = self._steps.get(rank, {})
        return [(number, time_s - self._start_s) for number, time_s in steps.items()]

    def find(self, rank: int, number: int) -> Issue | None:
        """Return what `rank` issued under this number in this call."""
        return self._issues.get((rank, number))

    def last(self, rank: int) -> Issue | None:
        """Return what `rank` has issued last in this call, None for nothing but its start."""
        for (issuer, _), issue in reversed(self._issues.items()):
            if issuer == rank and issue.call.op != Op.INIT_PROCESS_GROUP.value:
                return issue
        return None

    def complete(self, gid: str, seq: int) -> None:
        """Note up to which one all members have issued the collectives of a group."""
        self._num_complete[gid] = seq

    def ranks_of(self, gid: str) -> tuple[int, ...]:
        """Return the members of a group."""
        return self._groups[gid]

    def number(self, issue: Issue) -> int | None:
        """Return the place of a collective in its group's order, counted from 1 in each call."""
        return issue.seq and issue.seq - self._num_before.get(issue.gid, 0)

    def name(self, issue: Issue) -> str:
        """Return which one it is, in words."""
        group = "" if issue.seq is None else self.name_group(issue)
        return number_call(issue.call, self.number(issue), group)

    def name_group(self, issue: Issue) -> str:
        """Return the ranks of a call's group in words, and which of several of these ranks it is.

        A group that is still to be made may never be one: it has no number.
        """
        ranks = self._groups[issue.gid]
        alike = [gid for gid in self._groups if self._groups[gid] == ranks]
        is_numbered = issue.seq != 0 and len(alike) > 1
        ordinal = f" (group {alike.index(issue.gid) + 1} of these ranks)" if is_numbered else ""
        return name_ranks(list(ranks)) + ordinal

    def marks(self) -> Iterator[Mark]:
        """Yield the moments that ranks have marked in this call."""
        for rank, name, time_s in self._marks:
            yield Mark(rank, name, time_s - self._start_s)

    def add_memory(self, rank: int, fields: tuple) -> None:
        """Note a sample of a rank's memory, or its peak so far."""
        self._memory.append((rank, fields))

    def memory(self, world_size: int) -> Memory | None:
        """Return what the ranks held over time; None where their memory was not tracked."""
        return Memory.of(self._memory, self._start_s, world_size) if self._memory else None

    def events(self) -> Iterator[Event]:
        """Yield the events of this call; making groups and waiting for stores are none."""
        num_messages: dict[int, int] = {}
        for (rank, _), issue in self._issues.items():
            op = Op(issue.call.op)
            if op.makes_group or op.waits_for_store:
                continue
            seq = self.number(issue)
            if seq is None:
                seq = num_messages[rank] = num_messages.get(rank, 0) + 1
            yield self._event(rank, seq, op, issue)

    def _event(self, rank: int, seq: int, op: Op, issue: Issue) -> Event:
        call = issue.call
        return Event(
            rank=rank,
            seq=seq,
            op=op,
            group=self._groups[issue.gid],
            numel=call.numel,
            dtype=call.dtype,
            nbytes=call.numel * call.itemsize,
            reduce_op=call.reduce_op,
            call_site=issue.site,
            start_s=issue.time_s - self._start_s,
            end_s=self._in_call(self._ends.get((rank, issue.number))),
            waited_from_s=self._in_call(self._waits.get((rank, issue.number))),
            is_async=issue.is_async,
            shape=call.shape,
            root=call.root,
            parts=get_parts(op, call),
        )

    def _in_call(self, time_s: float | None) -> float | None:
        """Return a time as seconds since the call began."""
        return None if time_s is None else time_s - self._start_s


def get_parts(op: Op, call: Call) -> tuple[int, ...] | None:
    """Return the elements per member where they differ."""
    sizes = [call.gives] if op is Op.ALL_TO_ALL else [call.gives, call.takes]
    return next((size for size in sizes if isinstance(size, tuple)), None)
