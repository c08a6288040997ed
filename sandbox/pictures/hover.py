"""What a pointer over an interval of the timeline shows: op, group, bytes, duration, line."""

from __future__ import annotations

from sandbox import source
from sandbox.event import Event, Op
from sandbox.failure import name_ranks
from sandbox.faults.injected import Injected
from sandbox.faults.pause import Pause
from sandbox.pictures.spans import Kind, Span
from sandbox.units import format_bytes, format_time


def describe_span(span: Span) -> str:
    """Return what a pointer over it shows: one event whole, or what several are together."""
    events = span.events
    if len(events) == 1:
        return describe_event(events[0], span)
    total = sum(e.nbytes for e in events)
    return "\n".join([
        f"{len(events):,} × {span.op.value} of rank {span.rank}, too narrow to be drawn alone",
        f"{total:,} bytes in all",
        f"between {format_time(span.start_s)} and {format_time(span.end_s)}",
    ])  # fmt: skip


def describe_event(event: Event, span: Span) -> str:
    """Return number, op, group, bytes, duration, wait and line of an event, a fact a line."""
    lines = [f"rank {event.rank}: {name_event(event)}"]
    if event.dtype:
        lines.append(f"{event.nbytes:,} bytes ({format_bytes(event.nbytes)}) of {event.dtype}")
    if event.duration_s is None:
        lines.append(f"from {format_time(event.start_s)}; its end was not seen")
    else:
        lines.append(f"{format_time(event.duration_s)}, from {format_time(event.start_s)}")
    if span.kind is Kind.WAIT:
        lines.append(f"the rank waits {format_time(span.end_s - span.start_s)} and does no more")
    if event.call_site:
        lines.append(source.describe(event.call_site))
    return "\n".join(lines)


def describe_fault(injected: Injected) -> str:
    """Return what happened on purpose, on which rank, and when."""
    start_s, end_s = injected.start_s or 0.0, injected.end_s
    if not isinstance(injected.fault, Pause):
        what = f"{type(injected.fault).__name__} at {format_time(start_s)}"
    elif end_s is None:
        what = f"paused from {format_time(start_s)}; its end was not seen"
    else:
        what = f"paused {format_time(end_s - start_s)}, from {format_time(start_s)}"
    return f"rank {injected.rank}: {what}\ninjected: {injected.fault!r}"


def name_event(event: Event) -> str:
    """Return which one it is: "collective #7, all_reduce, of ranks 0-3": groups count together."""
    group = name_ranks(list(event.group))
    if event.op.is_point_to_point:
        way = "to" if event.op is Op.SEND else "from"
        other = "any rank" if event.root is None else f"rank {event.root}"
        return f"{event.op.value} {way} {other} of {group}"
    return f"collective #{event.seq}, {event.op.value}, of {group}"
