"""What a pointer over an interval of the timeline shows: op, group, bytes, duration, line."""

from __future__ import annotations

from sandbox import source
from sandbox.event import Event
from sandbox.failure import name_ranks
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
    """Return op, number, group, bytes, duration, wait and line of an event, a fact a line."""
    number = f" to rank {event.root}" if event.op.value == "send" else f" #{event.seq}"
    number = f" from rank {event.root}" if event.op.value == "recv" else number
    lines = [f"rank {event.rank}: {event.op.value}{number} of {name_ranks(list(event.group))}"]
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
