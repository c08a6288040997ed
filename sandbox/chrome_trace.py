"""A ledger in the Chrome trace format, which Perfetto (https://ui.perfetto.dev) opens.

The format: "Trace Event Format", Google, https://bit.ly/chrome-trace-format. Each rank is a process
there; events that overlap on a rank, as asynchronous ones do, lie on threads of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sandbox.event import Event


def to_trace(events: Iterable[Event]) -> dict[str, Any]:
    """Return the trace as plain data for json: times in µs, sizes in bytes."""
    by_rank: dict[int, list[Event]] = {}
    for event in sorted(events, key=lambda event: event.start_s):
        by_rank.setdefault(event.rank, []).append(event)
    records = [
        record
        for rank in sorted(by_rank)
        for record in (*_name_rank(rank), *_draw_rank(by_rank[rank]))
    ]
    return {"traceEvents": records, "displayTimeUnit": "ms"}


def _name_rank(rank: int) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}}
    yield {"ph": "M", "name": "process_sort_index", "pid": rank, "args": {"sort_index": rank}}


def _draw_rank(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Yield a rank's events, each on the first thread that is free at its start."""
    free_s: list[float] = []  # when each thread's last event ends
    for event in events:
        end_s = event.start_s if event.end_s is None else event.end_s
        free = (number for number, time_s in enumerate(free_s) if time_s <= event.start_s)
        thread = next(free, len(free_s))
        free_s[thread : thread + 1] = [end_s]
        yield _draw(event, thread)


def _draw(event: Event, thread: int) -> dict[str, Any]:
    record = {
        "name": event.op.value,
        "cat": "collective",
        "pid": event.rank,
        "tid": thread,
        "ts": event.start_s * 1e6,
        "args": {
            "seq": event.seq,
            "group": list(event.group),
            "numel": event.numel,
            "nbytes": event.nbytes,
            "dtype": event.dtype,
            "reduce_op": event.reduce_op,
            "line": event.line,
        },
    }
    if event.duration_s is None:  # nobody has seen its end: an instant of the thread
        return record | {"ph": "i", "s": "t"}
    return record | {"ph": "X", "dur": event.duration_s * 1e6}
