"""Made-up ranks: programs of collectives, run by a scheduler that knows nothing of proofs.

The simulation is the independent truth for the monitor: it says which threads end up blocked, and
yields the records that real ranks would have published on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.observing.record import Call

ALL_REDUCE = Call("all_reduce", (4,), 4, "float32", 4, "SUM", None, 4, 4)


class Step(NamedTuple):
    """One collective of a thread: on which group, and whether the thread waits for it.

    Once an asynchronous one is complete, its callback issues another on `then`.
    """

    gid: str
    is_async: bool = False
    then: str | None = None


Groups = Mapping[str, tuple[int, ...]]
Program = Sequence[Step]


@dataclass
class Thread:
    """One thread of a rank, or the callback of an operation: what it has to do, and waits in."""

    rank: int
    ident: int
    todo: list[Step]
    awaits: tuple[str, int] | None = None
    number: int = 0
    is_callback: bool = False
    has_told: bool = False  # that it is blocked


class World:
    """All threads of all ranks. `programs[rank]` holds one program per thread."""

    def __init__(self, groups: Groups, programs: Sequence[Sequence[Program]]) -> None:
        self.groups = groups
        self.world_size = len(programs)
        self.threads = [
            Thread(rank, rank * 10 + index, list(program))
            for rank, programs_of_rank in enumerate(programs)
            for index, program in enumerate(programs_of_rank)
        ]
        self.next_seq: dict[tuple[int, str], int] = defaultdict(lambda: 1)
        self.issued: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.num_events = [0] * self.world_size
        # What a rank publishes at one go: nothing can be asked in between.
        self.records: list[tuple[int, list[tuple]]] = [
            (rank, [("group", gid, ranks)]) for gid, ranks in groups.items() for rank in ranks
        ]

    def run(self, choices: Iterator[int]) -> None:
        """Run until no thread can move; `choices` says which one moves next."""
        while movable := [thread for thread in self.threads if self._can_move(thread)]:
            thread = movable[next(choices) % len(movable)]
            self.records.append((thread.rank, list(self._move(thread))))

    @property
    def stuck(self) -> set[int]:
        """The ranks of which a thread is blocked when all is over."""
        return {t.rank for t in self.threads if t.awaits and not t.is_callback}

    def _can_move(self, thread: Thread) -> bool:
        if thread.awaits:
            return self._is_complete(thread) or not (thread.has_told or thread.is_callback)
        return bool(thread.todo)

    def _is_complete(self, thread: Thread) -> bool:
        assert thread.awaits
        return self.issued[thread.awaits] == set(self.groups[thread.awaits[0]])

    def _move(self, thread: Thread) -> Iterator[tuple]:
        if thread.awaits and not self._is_complete(thread):
            thread.has_told = True
            yield self._tell_wait(thread)
            return
        if thread.awaits:
            thread.awaits = None
            yield "end", thread.number, self._now(), thread.ident
        else:
            yield self._issue(thread, thread.todo.pop(0))
        if thread.is_callback:
            self.threads.remove(thread)
            for step in thread.todo:
                yield self._issue(thread, step)
        elif not thread.todo and not thread.awaits:
            yield from self._tell_mates_of_end(thread)

    def _issue(self, thread: Thread, step: Step) -> tuple:
        seq = self.next_seq[thread.rank, step.gid]
        self.next_seq[thread.rank, step.gid] += 1
        self.issued[step.gid, seq].add(thread.rank)
        number = self.num_events[thread.rank]
        self.num_events[thread.rank] += 1
        if step.is_async:
            todo = [Step(step.then, is_async=True)] if step.then else []
            key = (step.gid, seq)
            self.threads.append(Thread(thread.rank, -number, todo, key, number, is_callback=True))
        else:
            thread.awaits, thread.number, thread.has_told = (step.gid, seq), number, False
        site = f"train.py:{thread.ident}"
        call = tuple(ALL_REDUCE)
        return ("issue", number, step.gid, seq, step.is_async, call, site, self._now())

    def _tell_wait(self, thread: Thread) -> tuple:
        assert thread.awaits
        return ("wait", thread.number, *thread.awaits, (thread.ident, self._others(thread)))

    def _others(self, thread: Thread) -> tuple[int, ...]:
        return tuple(mate.ident for mate in self._mates(thread) if mate.todo or mate.awaits)

    def _tell_mates_of_end(self, thread: Thread) -> Iterator[tuple]:
        """A thread that has ended is no longer among the others that its mates see."""
        for mate in self._mates(thread):
            if mate.awaits and mate.has_told:
                yield self._tell_wait(mate)

    def _mates(self, thread: Thread) -> list[Thread]:
        return [
            mate
            for mate in self.threads
            if mate.rank == thread.rank and mate is not thread and not mate.is_callback
        ]

    def _now(self) -> float:
        return float(len(self.records))
