"""Prediction and measurement of memory in the same place: an outline, and a filled bar."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from sandbox.memory.comparison import Comparison, Row
from sandbox.pictures import svg
from sandbox.pictures.palette import MEMORY
from sandbox.pictures.picture import Picture
from sandbox.units import format_bytes

HEAD_PX, BAR_PX, LINE_PX, GAP_PX = 22, 18, 17, 14


def draw_comparison(comparison: Comparison) -> Picture:
    """Return a bar per category, with the gap at it; the reasons of the gaps are notes."""
    rows = comparison.rows
    widest = max((max(row.predicted, row.measured or 0) for row in rows), default=0) or 1
    height = HEAD_PX + BAR_PX + LINE_PX + GAP_PX

    def draw(parent: Element, _: str) -> None:
        for number, row in enumerate(rows):
            place = svg.add(parent, "g", transform=f"translate(0 {number * height})")
            _draw_row(place, row, widest)

    notes = [f"{row.category}: {'; '.join(row.reasons)}" for row in rows if row.reasons]
    return Picture(_sentence(comparison), height * len(rows), draw, notes)


def _draw_row(place: Element, row: Row, widest: int) -> None:
    svg.text(place, f"{row.category}: {_gap(row)}", 0, 13)
    numbers = f"predicted {format_bytes(row.predicted)}"
    if row.measured is not None:
        title = f"{row.category} measured: {row.measured:,} bytes, {row.when}"
        width = svg.RIGHT * row.measured / widest
        svg.box(place, 0.0, HEAD_PX, width, BAR_PX, MEMORY[row.category], title=title)
        numbers += f", measured {format_bytes(row.measured)}"
    svg.add(
        place, "rect", f"{row.category} predicted: {row.predicted:,} bytes", x=0.0, y=HEAD_PX - 2,
        width=svg.RIGHT * row.predicted / widest, height=BAR_PX + 4, fill="none",
        stroke="currentColor", stroke_width=2, stroke_dasharray="5 3",
    )  # fmt: skip
    svg.text(place, numbers, 0, HEAD_PX + BAR_PX + LINE_PX, font_size=svg.SMALL_PX)


def _gap(row: Row) -> str:
    if row.gap is None:
        return "not observed"
    sign = "+" if row.gap >= 0 else "−"
    return f"{sign}{format_bytes(abs(row.gap))}" if row.gap else "no gap"


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
