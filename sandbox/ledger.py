"""The ledger: every collective that every rank issued, as plain data to count and to filter."""

from __future__ import annotations

import dataclasses
import json
import numbers
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from sandbox import chrome_trace
from sandbox.event import Event, Mark, Op
from sandbox.ring import ring_bytes

if TYPE_CHECKING:
    import pandas


class Ledger:
    """The events of one run, in the order in which they were issued."""

    def __init__(
        self,
        events: Iterable[Event] = (),
        marks: Iterable[Mark] = (),
        world_size: int | None = None,  # of the run; None: any rank may be asked for
    ) -> None:
        self._world_size = world_size
        self._events = tuple(sorted(events, key=lambda event: (event.start_s, event.rank)))
        self.marks = tuple(sorted(marks, key=lambda mark: (mark.time_s, mark.rank)))

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Ledger: ...
    def __getitem__(self, index: int | slice) -> Event | Ledger:
        found = self._events[index]
        return Ledger(found, self.marks, self._world_size) if isinstance(found, tuple) else found

    def where(
        self,
        matches: Callable[[Event], bool] | None = None,
        *,
        op: Op | str | None = None,
        rank: int | None = None,
        group: Sequence[int] | None = None,
        dtype: str | None = None,
        reduce_op: str | None = None,
    ) -> Ledger:
        """Return the events that meet every condition given; `matches` is a test of your own.

        Raises ValueError for an `op` that no operation is called, and for what is no rank.
        """
        for member in [rank] if group is None else [rank, *group]:
            self._check_rank(member)
        asked = {
            "op": None if op is None else Op(op),
            "rank": rank,
            "group": None if group is None else tuple(group),
            "dtype": dtype,
            "reduce_op": reduce_op,
        }
        asked = {name: value for name, value in asked.items() if value is not None}
        found = (
            event
            for event in self._events
            if all(getattr(event, name) == value for name, value in asked.items())
            and (matches is None or matches(event))
        )
        return Ledger(found, self.marks, self._world_size)

    def count(self, op: Op | str, rank: int | None = 0) -> int:
        """Return how often `rank` (None: all ranks together) issued `op`."""
        return len(self.where(op=op, rank=rank))

    def phases(self, rank: int) -> list[Ledger]:
        """Return one rank's events, cut at its marks; the last part is what followed the last."""
        self._check_rank(rank)
        phases: list[list[Event]] = [[]]
        times_s = [mark.time_s for mark in self.marks if mark.rank == rank]
        for event in self.where(rank=rank):
            while len(phases) <= len(times_s) and event.start_s >= times_s[len(phases) - 1]:
                phases.append([])
            phases[-1].append(event)
        phases += [[] for _ in range(len(times_s) + 1 - len(phases))]
        return [Ledger(events, (), self._world_size) for events in phases]

    def sent_bytes(self, rank: int, algorithm: str = "ring") -> float:
        """Return the bytes that `rank` sends for all its events, under the ring algorithms.

        With N members and B = `nbytes` of the whole tensor, a rank sends
            all_reduce              2 B (N - 1) / N
            all_gather              B (N - 1) / N   (its own shard and N - 2 that it passes on)
            reduce_scatter          B (N - 1) / N
            all_to_all              what is meant for the others: B (N - 1) / N if even
            broadcast               B; the last of the chain, the rank before the root, nothing
            reduce                  B; the root nothing
            gather                  its part; the root nothing
            scatter                 at the root what is meant for the others; elsewhere nothing
            send                    B
        and nothing for barriers, recv, and in a group of one rank. Patarasuk and Yuan, "Bandwidth
        optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009), sec. 3: an
        all-reduce is a reduce-scatter and an all-gather, each of which costs B (N - 1) / N; the
        broadcast is the pipelined chain that NCCL uses as well.
        """
        self._check_rank(rank)
        if algorithm != "ring":
            raise ValueError(f"algorithm is {algorithm!r}, expected 'ring'.")
        return float(sum(ring_bytes(event) for event in self._events if event.rank == rank))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame, one row per event, its columns the fields of `Event` and its line."""
        import pandas

        names = [*(field.name for field in dataclasses.fields(Event)), "line"]
        frame = pandas.DataFrame(
            [[getattr(event, name) for name in names] for event in self._events], columns=names
        )
        frame["op"] = [event.op.value for event in self._events]
        return frame

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a trace for https://ui.perfetto.dev or chrome://tracing; `path` ends in .json."""
        if not os.fspath(path).endswith(".json"):
            raise ValueError(f"path is {os.fspath(path)!r}, expected a name that ends in .json.")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(chrome_trace.to_trace(self._events), file)

    def __repr__(self) -> str:
        ranks = sorted({event.rank for event in self._events})
        if not ranks:
            return "Ledger(no collectives)"
        counts = [Counter(e.op.value for e in self._events if e.rank == rank) for rank in ranks]
        each = "each rank: " if counts.count(counts[0]) == len(ranks) > 1 else ""
        shown = counts[0] if each else sum(counts, Counter[str]())
        listed = ", ".join(f"{number} {op}" for op, number in shown.most_common())
        return f"Ledger({len(ranks)} rank{'s' * (len(ranks) > 1)}, {each}{listed})"

    def _check_rank(self, rank: int | None) -> None:
        is_whole = isinstance(rank, numbers.Integral) and not isinstance(rank, bool) and rank >= 0
        if rank is not None and not is_whole:
            raise ValueError(f"rank is {rank!r}, expected a whole number from 0, as in rank=2.")
        if rank is not None and self._world_size is not None and rank >= self._world_size:
            raise ValueError(
                f"rank is {rank}, expected one of this run's, from 0 to {self._world_size - 1}."
            )
