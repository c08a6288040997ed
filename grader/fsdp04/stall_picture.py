"""Draw steps and saves on one time axis: where training stands still, and where it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from sandbox.pictures import palette, svg, time_axis
from sandbox.pictures.picture import Drawn, Picture
from sandbox.units import format_time

LABEL_PX, STEP_PX, WRITING_PX, GAP_PX = 18, 24, 8, 14
ROW_PX = LABEL_PX + STEP_PX + WRITING_PX + GAP_PX

Span = tuple[float, float]  # start and end, in seconds


@dataclass(frozen=True, repr=False)
class Row:
    """One way to save: its steps, the times in which none was taken, and those of writing."""

    name: str
    steps: Sequence[Span]
    stalls: Sequence[Span]
    writings: Sequence[Span]

    @property
    def stall_s(self) -> float:
        """Return for how long training stood still."""
        return sum(end_s - start_s for start_s, end_s in self.stalls)

    @property
    def end_s(self) -> float:
        """Return when the last of it ended."""
        return max(end_s for _, end_s in (*self.steps, *self.stalls, *self.writings))


@dataclass(frozen=True, repr=False)
class StallPicture(Drawn):
    """A row per way to save: steps in grey, hatched where rank 0 stood still, writing below."""

    rows: Sequence[Row]

    def picture(self) -> Picture:
        """Return the drawing; the sentence says how long training stood still."""
        told = [f"{format_time(row.stall_s)} with {row.name}" for row in self.rows]
        sentence = f"For {len(self.rows[0].stalls)} saves training stood still {', '.join(told)}."
        notes = [
            "Grey: steps of rank 0. Hatched: it stands still for a save. The thin line below: a "
            "thread writes, until the checkpoint is complete."
        ]
        height_px = ROW_PX * len(self.rows) + time_axis.HEIGHT_PX
        return Picture(sentence, height_px, self._draw, notes)

    def _draw(self, parent: Element, pattern: str) -> None:
        end_s = max(row.end_s for row in self.rows)
        for number, row in enumerate(self.rows):
            top = number * ROW_PX
            svg.text(parent, row.name, svg.LEFT, top + LABEL_PX - 5, font_size=svg.SMALL_PX)
            for step, span in enumerate(row.steps):
                _box(parent, span, end_s, top + LABEL_PX, STEP_PX, f"step {step + 1}")
            for span in row.stalls:
                x, width = _box(parent, span, end_s, top + LABEL_PX, STEP_PX, "no step")
                svg.cover(parent, x, top + LABEL_PX, width, STEP_PX, pattern)
            for span in row.writings:
                _box(parent, span, end_s, top + LABEL_PX + STEP_PX + 2, WRITING_PX, "writing")
        time_axis.draw(parent, 0.0, end_s, ROW_PX * len(self.rows))


def _box(
    parent: Element, span: Span, end_s: float, top: int, height: int, what: str
) -> tuple[float, float]:
    """Draw one span; return where it is and how wide."""
    x, right = (svg.plot(time_s / end_s) for time_s in span)
    title = f"{what}: {format_time(span[1] - span[0])}"
    svg.box(parent, x, top, right - x, height, palette.COMPUTE, title=title)
    return x, right - x
