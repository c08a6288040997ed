"""Prediction and measurement of memory in the same place: an outline, and a filled bar."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from sandbox.memory.comparison import Comparison, Row
from sandbox.pictures import svg
from sandbox.pictures.palette import MEMORY
from sandbox.pictures.picture import Picture, wrap
from sandbox.units import format_bytes

HEAD_PX, BAR_PX, LINE_PX, GAP_PX = 22, 18, 17, 14
LINE_CHARS = int(svg.NARROWEST_PX / svg.SMALL_CHARACTER_PX)


def draw_comparison(comparison: Comparison) -> Picture:
    """Return a bar per category, with the gap at it and its reasons beneath."""
    rows = comparison.rows
    widest = max((max(row.predicted, row.measured or 0) for row in rows), default=0) or 1
    reasons = [wrap("; ".join(row.reasons), LINE_CHARS) for row in rows]
    heights = [HEAD_PX + BAR_PX + LINE_PX * len(lines) + GAP_PX for lines in reasons]

    def draw(parent: Element, _: str) -> None:
        top = 0
        for row, lines, height in zip(rows, reasons, heights, strict=True):
            place = svg.add(parent, "g", transform=f"translate(0 {top})")
            _draw_row(place, row, lines, widest)
            top += height

    return Picture(_sentence(comparison), sum(heights), draw)


def _draw_row(place: Element, row: Row, reasons: Sequence[str], widest: int) -> None:
    svg.text(place, f"{row.category}: {_numbers(row)}", 0, 13)
    if row.measured is not None:
        title = f"{row.category} measured: {row.measured:,} bytes, {row.when}"
        width = svg.RIGHT * row.measured / widest
        svg.box(place, 0.0, HEAD_PX, width, BAR_PX, MEMORY[row.category], title=title)
    svg.add(
        place, "rect", f"{row.category} predicted: {row.predicted:,} bytes", x=0.0, y=HEAD_PX - 2,
        width=svg.RIGHT * row.predicted / widest, height=BAR_PX + 4, fill="none",
        stroke="currentColor", stroke_width=2, stroke_dasharray="5 3",
    )  # fmt: skip
    for number, line in enumerate(reasons):
        y = HEAD_PX + BAR_PX + LINE_PX * (number + 1)
        svg.text(place, line, 0, y, font_size=svg.SMALL_PX)


def _numbers(row: Row) -> str:
    if row.measured is None or row.gap is None:
        return f"predicted {format_bytes(row.predicted)}, not observed"
    sign = "+" if row.gap >= 0 else "−"
    gap = f"{sign}{format_bytes(abs(row.gap))}" if row.gap else "no gap"
    measured = format_bytes(row.measured)
    return f"predicted {format_bytes(row.predicted)}, measured {measured} ({gap})"


def _sentence(comparison: Comparison) -> str:
    """Return the sums of what was observed, and what was not."""
    seen = [row for row in comparison.rows if row.measured is not None]
    unseen = ", ".join(row.category for row in comparison.rows if row.measured is None)
    if not seen:
        return f"Of the model states of rank {comparison.rank}, none was observed."
    predicted = sum(row.predicted for row in seen)
    measured = sum(row.measured or 0 for row in seen)
    what = "model states" + (f" other than {unseen} (not observed)" if unseen else "")
    return (
        f"Rank {comparison.rank} was predicted to hold {format_bytes(predicted)} of {what} (dashed "
        f"outline) and held {format_bytes(measured)} (filled)."
    )
