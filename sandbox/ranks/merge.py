"""Merge the lines of ranks: equal ones become one, and each rank's stay in their order."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

MERGE_WINDOW_S = 0.1  # how long a line waits for the same line of other ranks


@dataclass(order=True)
class _Line:
    """One line, and the ranks that have printed it."""

    first_s: float  # when the first of them did
    number: int
    text: str = field(compare=False)
    key: tuple[str, int] = field(compare=False)
    ranks: list[int] = field(default_factory=list, compare=False)
    num_first: int = field(default=0, compare=False)  # ranks that have nothing to show before it

    @property
    def is_free(self) -> bool:
        """Whether none of its ranks has an earlier line to show."""
        return self.num_first == len(self.ranks)


class Merge:
    """The lines that wait for their like; the nth of equal lines of a rank meets another's nth."""

    def __init__(self, world_size: int) -> None:
        self._queues: list[deque[_Line]] = [deque() for _ in range(world_size)]
        self._waiting: dict[tuple[str, int], _Line] = {}
        self._repeats: Counter[tuple[int, str]] = Counter()
        self._numbers = itertools.count()

    def add(self, rank: int, text: str, now_s: float) -> None:
        """Take in the next line of a rank."""
        key = text, self._repeats[rank, text]
        self._repeats[rank, text] += 1
        line = self._waiting.get(key)
        if line is None:
            line = self._waiting[key] = _Line(now_s, next(self._numbers), text, key)
        line.ranks.append(rank)
        self._queues[rank].append(line)
        line.num_first += len(self._queues[rank]) == 1

    def take(self, now_s: float, everything: bool) -> Iterator[tuple[list[int], str]]:
        """Yield ranks and text of the lines that have waited long enough, or for nobody else."""
        firsts = {
            line.number: line for queue in self._queues for line in itertools.islice(queue, 1)
        }
        free = [line for line in firsts.values() if line.is_free]
        heapq.heapify(free)
        while free or any(self._queues):
            # None is free where ranks print the same lines in different orders: one is split.
            line = free[0] if free else min(queue[0] for queue in self._queues if queue)
            is_complete = line.is_free and len(line.ranks) == len(self._queues)
            if not (everything or is_complete or now_s - line.first_s > MERGE_WINDOW_S):
                return
            if free:
                heapq.heappop(free)
            shown = [rank for rank in line.ranks if self._queues[rank][0] is line]
            line.ranks = [rank for rank in line.ranks if rank not in shown]
            line.num_first = 0
            if not line.ranks:
                del self._waiting[line.key]
            for rank in shown:
                self._advance(rank, free)
            yield shown, line.text

    def _advance(self, rank: int, free: list[_Line]) -> None:
        """Drop the first line of a rank; note the next if nothing is to be shown before it."""
        queue = self._queues[rank]
        queue.popleft()
        if queue:
            queue[0].num_first += 1
            if queue[0].is_free:
                heapq.heappush(free, queue[0])
