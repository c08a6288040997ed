"""What each rank held over time: categories stacked, a row per rank, the peak labelled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from sandbox import source
from sandbox.failure import name_ranks
from sandbox.memory.category import Category
from sandbox.pictures import key, palette, svg, time_axis
from sandbox.pictures.picture import Picture
from sandbox.pictures.spans import Window
from sandbox.pictures.timeline import PALE
from sandbox.pictures.view import View
from sandbox.units import format_bytes

if TYPE_CHECKING:
    from sandbox.memory.history import Memory
    from sandbox.memory.sample import Sample

AREA_PX = 64
LABEL_PX = 18  # above each area, for its peak
ROW_PX = AREA_PX + LABEL_PX + 8
MAX_POINTS = 400  # per rank; of more samples, the highest of each stretch of time


def draw_memory(
    memory: Memory, world_size: int, view: View | None = None, window: Window | None = None
) -> Picture:
    """Return the chart of the samples within the window, or of all; each holds until the next."""
    chart = _MemoryChart(memory, world_size, view or View(), window)
    return Picture(chart.sentence(), chart.height_px, chart.draw, (chart.note,))


class _MemoryChart:
    def __init__(self, memory: Memory, world_size: int, view: View, window: Window | None) -> None:
        self.world_size, self.view = world_size, view
        times = [sample.time_s for sample in memory.samples] or [0.0]
        self.window = window or Window(min(times), max(max(times), min(times) + 1e-6))
        self.rows: list[list[Sample]] = []
        self.peaks: dict[int, Sample] = {}
        for rank in range(world_size):
            own = [s for s in memory.samples if s.rank == rank]
            if own:
                own = sorted([*own, memory.peak(rank)], key=lambda s: s.time_s)
            inside = [s for s in own if self.window.holds(s.time_s)]
            before = [s for s in own if s.time_s < self.window.start_s]
            self.rows.append(self._thin(before[-1:] + inside))
            if self.rows[-1]:
                self.peaks[rank] = max(self.rows[-1], key=_total)
        self.highest = max((peak.total for peak in self.peaks.values()), default=0)
        held = {str(c) for row in self.rows for s in row for c, n in s.bytes.items() if n}
        self.categories = [category for category in palette.MEMORY if category in held]
        self.entries = [key.Entry(c, palette.MEMORY[c]) for c in self.categories]
        self.note = f"Not observed: {'; '.join(memory.not_observed)}."
        self.top = key.height_px(self.entries)

    @property
    def height_px(self) -> int:
        return self.top + self.world_size * ROW_PX + time_axis.HEIGHT_PX

    def sentence(self) -> str:
        peaks = {rank: peak for rank, peak in self.peaks.items() if self.view.shows(rank)}
        if not peaks:
            return "No memory samples here."
        most = max(peaks, key=lambda rank: peaks[rank].total)
        peak = peaks[most]
        parts = sorted(((n, str(c)) for c, n in peak.bytes.items() if n), key=lambda part: -part[0])
        listed = ", ".join(f"{name} {format_bytes(n)}" for n, name in parts)
        alike = [rank for rank in peaks if peaks[rank].bytes == peak.bytes]
        if len(peaks) == 1:
            return f"Rank {most} holds at most {describe_peak(peak)}: {listed}."
        if len(alike) == len(peaks):
            who = "All ranks" if len(alike) == self.world_size else name_ranks(alike).capitalize()
            return f"{who} hold the same: at most {describe_peak(peak)} ({listed})."
        if len(alike) == 1:
            return f"Rank {most} holds most, {describe_peak(peak)}: {listed}."
        names = name_ranks(alike).capitalize()
        return f"{names} hold most, each {describe_peak(peak)}: {listed}."

    def draw(self, parent: Element, pattern: str) -> None:
        key.draw(parent, "holds", self.entries, pattern)
        for rank, samples in enumerate(self.rows):
            opacity = {} if self.view.shows(rank) else {"opacity": PALE}
            place = f"translate(0 {self.top + rank * ROW_PX})"
            self._draw_row(svg.add(parent, "g", transform=place, **opacity), rank, samples)
        bottom = self.top + self.world_size * ROW_PX
        time_axis.draw(parent, self.window.start_s, self.window.end_s, bottom)

    def _draw_row(self, row: Element, rank: int, samples: list[Sample]) -> None:
        svg.text(row, f"rank {rank}", 0, LABEL_PX + 14)
        base = LABEL_PX + AREA_PX
        svg.add(row, "line", x1=svg.plot(0.0), x2=svg.plot(1.0), y1=base, y2=base,
                stroke="currentColor", stroke_width="0.5")  # fmt: skip
        if not samples or not self.highest:
            svg.text(row, "no samples" if not samples else "0 B", svg.plot(0.0), base - 6)
            return
        area = svg.stretched(row, LABEL_PX, AREA_PX)
        for category in reversed(self.categories):
            title = f"rank {rank}: {category}, {self._range(samples, category)}"
            svg.add(area, "path", title, d=self._outline(samples, category),
                    fill=palette.MEMORY[category], stroke="currentColor", stroke_width="0.5",
                    vector_effect="non-scaling-stroke")  # fmt: skip
        for category in self.categories:
            self._label(row, samples, category)
        self._draw_peak(row, self.peaks[rank])

    def _draw_peak(self, row: Element, peak: Sample) -> None:
        place = self.window.place(peak.time_s)
        x = svg.plot(place)
        top = LABEL_PX + AREA_PX - round(AREA_PX * peak.total / self.highest)
        svg.add(row, "line", x1=x, x2=x, y1=LABEL_PX - 2, y2=max(top, LABEL_PX),
                stroke="currentColor", stroke_dasharray="3 2")  # fmt: skip
        label = f"peak {describe_peak(peak)}"
        words = svg.text_at(row, label, x, LABEL_PX - 5, font_size=svg.SMALL_PX)
        svg.add(words, "title").text = f"{peak.total:,} bytes"

    def _outline(self, samples: list[Sample], category: str) -> str:
        """Return the path of a category and all those under it, as steps from sample to sample."""
        below = self.categories[: self.categories.index(category) + 1]
        path, height = f"M{self._across(samples[0])} {AREA_PX}", float(AREA_PX)
        for sample in samples:
            held = sum(_held(sample, name) for name in below)
            x = self._across(sample)
            path += f"L{x} {height:.1f}"
            height = AREA_PX * (1 - held / self.highest)
            path += f"L{x} {height:.1f}"
        return f"{path}L1000 {height:.1f}L1000 {AREA_PX}Z"

    def _label(self, row: Element, samples: list[Sample], category: str) -> None:
        """Write a category's name on it, where it is high enough for the longest time."""
        below = self.categories[: self.categories.index(category)]
        ends = [self.window.place(sample.time_s) for sample in samples[1:]] + [1.0]
        start, low, high = 0.0, 0.0, math.inf  # the band in which it lies since `start`
        widest = (0.0, 0.0, 0.0)
        for sample, end in zip(samples, ends, strict=True):
            place = self.window.place(sample.time_s)
            under = sum(_held(sample, name) for name in below) / self.highest * AREA_PX
            top = under + _held(sample, category) / self.highest * AREA_PX
            low, high = max(low, under), min(high, top)
            if high - low < LABEL_PX - 4:
                start, low, high = place, under, top
            if high - low >= LABEL_PX - 4:
                widest = max(widest, (end - start, start, (low + high) / 2))
        width, start, middle = widest
        if svg.fits(category, width * (svg.RIGHT - svg.LEFT)):
            y = LABEL_PX + AREA_PX - round(middle) + 4
            x = svg.plot(start + width / 2)
            svg.label(row, category, x, y, palette.MEMORY[category])

    def _across(self, sample: Sample) -> str:
        return f"{1000 * self.window.place(sample.time_s):.1f}"

    def _range(self, samples: list[Sample], category: str) -> str:
        held = [_held(sample, category) for sample in samples]
        return f"{min(held):,} to {max(held):,} bytes"

    def _thin(self, samples: list[Sample]) -> list[Sample]:
        if len(samples) <= MAX_POINTS:
            return samples
        highest: dict[int, Sample] = {}
        for sample in samples:
            place = int(self.window.place(sample.time_s) * MAX_POINTS)
            if place not in highest or sample.total > highest[place].total:
                highest[place] = sample
        return list(highest.values())


def describe_peak(peak: Sample) -> str:
    """Return how much it is, in which phase, and on which line."""
    where = f" at {source.describe(peak.site)}" if peak.site else ""
    return f"{format_bytes(peak.total)} in {peak.phase}{where}"


def _held(sample: Sample, category: str) -> int:
    return sample.bytes[Category(category)] or 0


def _total(sample: Sample) -> int:
    return sample.total
