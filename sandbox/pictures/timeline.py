"""A chart of who did what when: a row per rank, time to the right, waiting hatched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from sandbox.event import Event
from sandbox.faults.injected import Injected, list_faults
from sandbox.faults.pause import Pause
from sandbox.ledger import Ledger
from sandbox.pictures import hover, key, palette, svg, time_axis
from sandbox.pictures.palette import Texture
from sandbox.pictures.picture import WIDTH_PX, Picture
from sandbox.pictures.spans import Kind, Span, Window, find_spans, merge
from sandbox.pictures.summary import summarize
from sandbox.pictures.view import Steps, View
from sandbox.units import format_time

ROW_PX = 26
LANE_PX = 8
BETWEEN_PX = 8
CLEAR_PX = 11  # around a name on hatching: white on a dark ground, it would cross black letters
PALE = "0.25"


def draw_timeline(
    ledger: Ledger,
    world_size: int,
    steps: Steps = (),
    view: View | None = None,
    *,
    faults: Sequence[Injected] = (),
    axis: Window | None = None,
) -> Picture:
    """Return the chart of a run that has events. A step's end is a line across its rank's row.

    `axis` is the time to draw; by default that of the view, which the sentence always tells.
    """
    chart = _Timeline(ledger, world_size, steps, view or View(), faults, axis)
    return Picture(chart.sentence(), chart.height_px, chart.draw)


class _Timeline:
    def __init__(
        self,
        ledger: Ledger,
        world_size: int,
        steps: Steps,
        view: View,
        faults: Sequence[Injected],
        axis: Window | None,
    ) -> None:
        self.world_size, self.steps, self.view = world_size, steps, view
        self.whole = View().window(ledger, steps, faults)
        self.told = view.window(ledger, steps, faults)
        self.window = window = axis or self.told
        self.faults = [f for f in faults if self._concerns(f)]
        self.events = [event for event in ledger if self.view.includes(event, steps)]
        spans = find_spans(self.events, self.whole.end_s)
        self.num_lanes = max((s.lane + 1 for s in spans if s.kind is Kind.FLIGHT), default=0)
        self.spans = merge(spans, window, int(WIDTH_PX * (svg.RIGHT - svg.LEFT)))
        self.row_px = ROW_PX + self.num_lanes * LANE_PX
        self.entries = self._entries()
        self.top = key.height_px(self.entries) + (svg.SMALL_PX + 6 if any(steps) else 2)

    @property
    def height_px(self) -> int:
        return self.top + self.world_size * (self.row_px + BETWEEN_PX) + time_axis.HEIGHT_PX

    def sentence(self) -> str:
        text = summarize(
            self.events, self.world_size, self.view, self.told, self.whole.end_s, self._pauses()
        )
        if self.faults:
            text += f" Injected: {list_faults(self.faults)}."
        if sum(len(span.events) for span in self.spans) == len(self.spans):
            return text
        return f"{text} What is too narrow to see is merged: {len(self.spans):,} boxes."

    def _entries(self) -> list[key.Entry]:
        entries = key.of_operations(event.op for event in self.events)
        entries += [
            key.Entry("computing", palette.COMPUTE),
            key.Entry("waiting", "none", Texture.HATCH),
        ]
        if any(isinstance(each.fault, Pause) for each in self.faults):
            entries.append(key.Entry("paused", palette.GROUND, Texture.BARS))
        return entries

    def _concerns(self, injected: Injected) -> bool:
        """Whether a fault concerns the ranks and the time that are shown."""
        is_here = injected.rank is None or self.view.shows(injected.rank)
        start_s = self.told.start_s if injected.start_s is None else injected.start_s
        end_s = start_s if injected.end_s is None else injected.end_s
        return is_here and start_s <= self.told.end_s and end_s >= self.told.start_s

    # -- drawing --------------------------------------------------------------------------------

    def draw(self, parent: Element, pattern: str) -> None:
        key.draw(parent, "calls", self.entries, pattern)
        rows = []
        extents = self._known_times()
        for rank in range(self.world_size):
            top = self.top + rank * (self.row_px + BETWEEN_PX)
            opacity = {} if self.view.shows(rank) else {"opacity": PALE}
            row = svg.add(parent, "g", transform=f"translate(0 {top})", **opacity)
            svg.text(row, f"rank {rank}", 0, 17)
            self._draw_computing(row, rank, extents[rank])
            rows.append(row)
        for each in self.faults:
            if isinstance(each.fault, Pause) and each.rank is not None:
                self._draw_pause(rows[each.rank], each, pattern)
        for span in self.spans:
            self._draw_span(rows[span.rank], span, pattern)
        for each in self.faults:
            if not isinstance(each.fault, Pause) and each.rank is not None:
                self._draw_fault(rows[each.rank], each)
        for rank, of_rank in enumerate(self.steps):
            for number, time_s in of_rank:
                if self.window.holds(time_s):
                    self._draw_step(rows[rank], rank, number, time_s)
        bottom = self.top + self.world_size * (self.row_px + BETWEEN_PX)
        time_axis.draw(parent, self.window.start_s, self.window.end_s, bottom)

    def _known_times(self) -> list[list[float]]:
        """Return per rank the moments at which it is known to have run."""
        times: list[list[float]] = [[] for _ in range(self.world_size)]
        for event in self.events:
            times[event.rank] += event.start_s, wait_end(event, self.whole.end_s)
        for rank, of_rank in enumerate(self.steps):
            times[rank] += [time_s for _, time_s in of_rank if self.window.holds(time_s)]
        for each in self.faults:
            if each.rank is not None and each.start_s is not None:
                times[each.rank] += each.start_s, each.end_s or self._end_of(each)
        return times

    def _pauses(self) -> dict[int, list[tuple[float, float]]]:
        """Return per rank from when to when it was paused."""
        pauses = defaultdict(list)
        for each in self.faults:
            if isinstance(each.fault, Pause) and each.rank is not None:
                pauses[each.rank].append((each.start_s or 0.0, self._end_of(each)))
        return pauses

    def _end_of(self, injected: Injected) -> float:
        """Return when a fault was over; a pause of which no end was seen lasts to that of all."""
        start_s, end_s = injected.start_s or 0.0, injected.end_s
        if end_s is None:
            return self.whole.end_s if isinstance(injected.fault, Pause) else start_s
        return end_s

    def _draw_pause(self, row: Element, injected: Injected, pattern: str) -> None:
        start_s, end_s = injected.start_s or 0.0, self._end_of(injected)
        x, width = self._extent(start_s, end_s)
        svg.box(row, x, 1, width, ROW_PX - 2, palette.GROUND, title=hover.describe_fault(injected),
                stroke_dasharray="3 2")  # fmt: skip
        svg.cover(row, x, 1, width, ROW_PX - 2, pattern, Texture.BARS)
        if svg.fits("paused", width):
            svg.text(row, "paused", x + width / 2, 17, anchor="middle", style=svg.SEAM,
                     pointer_events="none")  # fmt: skip

    def _draw_fault(self, row: Element, injected: Injected) -> None:
        """Mark when something else than a pause happened; what holds throughout has no mark."""
        if injected.start_s is None:
            return
        x = svg.plot(self.window.place(injected.start_s))
        name = type(injected.fault).__name__
        place, anchor = svg.beside(f"✗ {name}", x)
        words = f"{name} ✗" if anchor == "end" else f"✗ {name}"  # the mark is where it happened
        mark = svg.text(row, words, place, 17, anchor=anchor, font_weight="700", style=svg.SEAM)
        svg.add(mark, "title").text = hover.describe_fault(injected)

    def _draw_computing(self, row: Element, rank: int, times: list[float]) -> None:
        """Draw when the rank is known to run: between its first and last event."""
        if not times:
            return
        x, width = self._extent(min(times), max(times))
        is_paused = any(each.rank == rank and isinstance(each.fault, Pause) for each in self.faults)
        title = f"rank {rank} computes wherever it does not wait{' or pause' * is_paused}"
        svg.box(row, x, 1, width, ROW_PX - 2, palette.COMPUTE, title=title)

    def _draw_span(self, row: Element, span: Span, pattern: str) -> None:
        x, width = self._extent(span.start_s, span.end_s)
        fill = palette.of_operation(span.op)
        place = row if self.view.op in (None, span.op) else svg.add(row, "g", opacity=PALE)
        is_wait = span.kind is Kind.WAIT
        top, height = (0, ROW_PX) if is_wait else (ROW_PX + span.lane * LANE_PX, LANE_PX - 1)
        low, high = (round(height * part) for part in span.band)
        top, height = top + low, max(1, high - low)
        is_narrow = len(span.events) > 1 or width * svg.NARROWEST_PX < 3
        stroke = "0.5" if is_narrow else "1.5" if is_wait else "0.75"  # outlined: exposed
        svg.box(
            place, x, top, width, height, fill, title=hover.describe_span(span), stroke_width=stroke
        )
        if is_narrow:
            return
        svg.cover(place, x, top, width, height, pattern, palette.texture_of(span.op))
        if not is_wait:
            return
        svg.cover(place, x, top, width, height, pattern)
        if svg.fits(span.op.value, width) and height == ROW_PX:
            svg.label(place, span.op.value, x + width / 2, top + 17, fill, CLEAR_PX)

    def _draw_step(self, row: Element, rank: int, number: int, time_s: float) -> None:
        x = svg.plot(self.window.place(time_s))
        title = f"rank {rank}: step {number} ends at {format_time(time_s)}"
        line = svg.add(row, "g")
        svg.add(line, "line", title, x1=x, x2=x, y1=-3, y2=self.row_px + 3,
                stroke="currentColor", stroke_width="2", stroke_dasharray="4 2")  # fmt: skip
        if rank == 0 and self._has_room(number):
            svg.text(line, f"step {number}", x, -6, anchor="end", font_size=svg.SMALL_PX)

    def _has_room(self, number: int) -> bool:
        """Whether the name of a step of rank 0 fits between its end and the one before."""
        times = dict(self.steps[0])
        before_s = max(times.get(number - 1, self.window.start_s), self.window.start_s)
        width = (times[number] - before_s) / self.window.length_s * (svg.RIGHT - svg.LEFT)
        return svg.fits(f"step {number}", width)

    def _extent(self, start_s: float, end_s: float) -> tuple[float, float]:
        x, right = (svg.plot(self.window.place(time_s)) for time_s in (start_s, end_s))
        return x, max(right - x, 1 / WIDTH_PX)


def wait_end(event: Event, run_end_s: float) -> float:
    """Return the last moment in which the event kept its rank or the wire busy, as far as seen."""
    if event.end_s is not None:
        return event.end_s
    return event.start_s if event.is_async else run_end_s
