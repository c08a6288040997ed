"""When ranks waited and what was in flight: the ledger as intervals, merged where too narrow."""

from __future__ import annotations

import enum
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sandbox.event import Event, Op

MAX_LANES = 4  # of operations in flight beneath a rank; more lie on top of each other
MAX_DRAWN = 1200  # boxes: a notebook stores less than 1 MB for them, as page and as SVG


class Kind(enum.Enum):
    """What an interval says of its rank."""

    WAIT = "wait"  # it waits in the operation and computes nothing: exposed communication
    FLIGHT = "flight"  # the operation is on its way, while the rank does something else


@dataclass(frozen=True)
class Window:
    """The time that a chart shows, in seconds since the call of launch."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Its length."""
        return self.end_s - self.start_s

    def holds(self, time_s: float) -> bool:
        """Whether a time lies in it."""
        return self.start_s <= time_s <= self.end_s

    def place(self, time_s: float) -> float:
        """Return where a time lies in it: 0 at its start, 1 at its end, cut off there."""
        return min(1.0, max(0.0, (time_s - self.start_s) / self.length_s))


@dataclass(frozen=True)
class Span:
    """An interval of a rank: one event, or several of one operation that are too narrow alone.

    `band` is the part of the lane's height that is its own, where merged operations share a place.
    """

    kind: Kind
    op: Op
    start_s: float
    end_s: float
    events: tuple[Event, ...]
    lane: int = 0
    band: tuple[float, float] = (0.0, 1.0)

    @property
    def rank(self) -> int:
        """The rank whose time it is."""
        return self.events[0].rank


def wait_of(event: Event, run_end_s: float) -> tuple[float, float] | None:
    """Return when the rank waited in the event, None where it never did or that was not seen.

    One that never completed is waited for until the end of the run.
    """
    end_s = event.end_s
    if event.is_async:
        if end_s is None or event.waited_from_s is None or event.waited_from_s >= end_s:
            return None
        return max(event.start_s, event.waited_from_s), end_s
    return event.start_s, run_end_s if end_s is None else end_s


def find_spans(events: Iterable[Event], run_end_s: float) -> list[Span]:
    """Return the waits, and for asynchronous events their flights, each on the first free lane."""
    spans = []
    free_s: dict[int, list[float]] = defaultdict(list)  # by rank: when each lane is free again
    for event in events:
        wait = wait_of(event, run_end_s)
        if wait is not None:
            spans.append(Span(Kind.WAIT, event.op, *wait, (event,)))
        if event.is_async:
            end_s = event.start_s if event.end_s is None else event.end_s
            lanes = free_s[event.rank]
            free = (n for n, time_s in enumerate(lanes) if time_s <= event.start_s)
            lane = min(next(free, len(lanes)), MAX_LANES - 1)
            lanes[lane : lane + 1] = [max(end_s, *lanes[lane : lane + 1], event.start_s)]
            spans.append(Span(Kind.FLIGHT, event.op, event.start_s, end_s, (event,), lane))
    return spans


def busy_s(intervals: Iterable[tuple[float, float]], window: Window) -> float:
    """Return the seconds of the window that the intervals cover together."""
    covered_s, reached_s = 0.0, window.start_s
    for start_s, end_s in sorted(intervals):
        start_s, end_s = max(start_s, reached_s), min(end_s, window.end_s)
        if end_s > start_s:
            covered_s += end_s - start_s
            reached_s = end_s
    return covered_s


def merge(spans: Sequence[Span], window: Window, width_px: int) -> list[Span]:
    """Return at most MAX_DRAWN spans: those narrower than a pixel, or some, become one per pixel.

    Every event stays in a span, and so do its bytes and times.
    """
    least_px = 1
    while True:
        merged = _merge(spans, window, least_px * window.length_s / width_px)
        if len(merged) <= MAX_DRAWN or least_px >= width_px:
            return merged
        least_px *= 2


def _merge(spans: Sequence[Span], window: Window, least_s: float) -> list[Span]:
    kept = []
    bins: dict[tuple, list[Span]] = defaultdict(list)
    for span in spans:
        if span.end_s - span.start_s >= least_s:
            kept.append(span)
        else:
            middle_s = (span.start_s + span.end_s) / 2 - window.start_s
            bins[span.rank, span.kind, span.lane, math.floor(middle_s / least_s)].append(span)
    for alike in bins.values():
        kept += _share(alike)
    return kept


def _share(spans: list[Span]) -> list[Span]:
    """Return one span per operation, each with a part of the height as large as its part of all."""
    if len(spans) == 1:
        return spans
    start_s, end_s = min(s.start_s for s in spans), max(s.end_s for s in spans)
    shares, low = [], 0
    for op, count in Counter(span.op for span in spans).most_common():
        events = tuple(event for span in spans if span.op is op for event in span.events)
        band = low / len(spans), (low + count) / len(spans)
        low += count
        shares.append(
            replace(spans[0], op=op, start_s=start_s, end_s=end_s, events=events, band=band)
        )
    return shares
