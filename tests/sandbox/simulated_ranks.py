"""Made-up ranks: programs of blocking collectives, run by a scheduler that knows nothing of proofs.

The simulation is the independent truth for the monitor: it says which threads end up blocked, and
yields the records that real ranks would have published on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sandbox.record import Call

Groups = Mapping[str, tuple[int, ...]]
Program = Sequence[str]  # the groups on which a thread issues collectives, in order


@dataclass
class Thread:
    """One thread of a rank: what it still has to issue, and what it is blocked in."""

    rank: int
    ident: int
    todo: list[str]
    blocked_in: tuple[str, int] | None = None
    number: int = 0


@dataclass
class World:
    """All threads of all ranks. `programs[rank]` holds one program per thread."""

    groups: Groups
    programs: Sequence[Sequence[Program]]
    calls: Mapping[str, Call] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.threads = [
            Thread(rank, rank * 10 + index, list(program))
            for rank, programs in enumerate(self.programs)
            for index, program in enumerate(programs)
        ]
        self.next_seq: dict[tuple[int, str], int] = defaultdict(lambda: 1)
        self.issued: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.num_events = [0] * len(self.programs)
        self.records: list[tuple[int, tuple | None]] = [
            (rank, ("group", gid, ranks)) for gid, ranks in self.groups.items() for rank in ranks
        ]

    def run(self, choices: Iterator[int]) -> None:
        """Run until no thread can move; `choices` says which one moves next."""
        while movable := [thread for thread in self.threads if self._can_move(thread)]:
            self._move(movable[next(choices) % len(movable)])

    @property
    def stuck(self) -> set[int]:
        """The ranks of which a thread is blocked when all is over."""
        return {thread.rank for thread in self.threads if thread.blocked_in}

    def _can_move(self, thread: Thread) -> bool:
        return self._is_complete(thread.blocked_in) if thread.blocked_in else bool(thread.todo)

    def _is_complete(self, key: tuple[str, int]) -> bool:
        return self.issued[key] == set(self.groups[key[0]])

    def _move(self, thread: Thread) -> None:
        if thread.blocked_in:
            thread.blocked_in = None
            self._publish(thread.rank, ("end", thread.number, self._now(), thread.ident))
            self._finish(thread)
            return
        gid = thread.todo.pop(0)
        seq = self.next_seq[thread.rank, gid]
        self.next_seq[thread.rank, gid] += 1
        thread.number = self.num_events[thread.rank]
        self.num_events[thread.rank] += 1
        thread.blocked_in = (gid, seq)
        self.issued[gid, seq].add(thread.rank)
        call = self.calls.get(gid, ALL_REDUCE)
        waiting = (thread.ident, self._others(thread))
        site = f"train.py:{thread.ident}"
        self._publish(
            thread.rank,
            ("issue", thread.number, gid, seq, False, tuple(call), site, self._now(), waiting),
        )

    def _others(self, thread: Thread) -> tuple[int, ...]:
        mates = [mate for mate in self.threads if mate.rank == thread.rank and mate is not thread]
        return tuple(mate.ident for mate in mates if mate.todo or mate.blocked_in)

    def _finish(self, thread: Thread) -> None:
        """A thread that ends is no longer among the others that its mates see."""
        if thread.todo:
            return
        mates = [mate for mate in self.threads if mate.rank == thread.rank and mate.blocked_in]
        for mate in mates:
            gid, seq = mate.blocked_in
            waiting = (mate.ident, self._others(mate))
            self._publish(mate.rank, ("wait", mate.number, gid, seq, waiting))
        if not any(m.todo or m.blocked_in for m in self.threads if m.rank == thread.rank):
            self._publish(thread.rank, None)  # the rank has finished

    def _publish(self, rank: int, record: tuple | None) -> None:
        self.records.append((rank, record))

    def _now(self) -> float:
        return float(len(self.records))


ALL_REDUCE = Call("all_reduce", (4,), 4, "float32", 4, "SUM", None, 4, 4)
