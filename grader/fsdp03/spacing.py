"""Draw how far apart the numbers of bf16, fp16 and fp32 are around a weight, and an update."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

import torch

from sandbox.pictures import svg
from sandbox.pictures.palette import GROUND, MEMORY
from sandbox.pictures.picture import Drawn, Picture

ROW_PX = 52
FORMATS = (("bf16", torch.bfloat16), ("fp16", torch.float16), ("fp32", torch.float32))
SPAN = 2.5  # bf16 steps to each side of the weight
DENSE = 60  # ticks; more of them in one row are drawn as a filled band


@dataclass(frozen=True, repr=False)
class SpacingPicture(Drawn):
    """A number line per format, the weight in the middle, and where weight + update lies."""

    weight: float
    update: float

    @property
    def sentence(self) -> str:
        """Say which formats keep the update."""
        kept = [name for name, dtype in FORMATS if self._result(dtype) != self._stored(dtype)]
        lost = [name for name, _ in FORMATS if name not in kept]
        said = f"{self.weight:g} + {self.update:g}"
        moved = f"moves in {' and '.join(kept)}" if kept else "moves in no format"
        return f"{said} {moved}" + (f"; in {' and '.join(lost)} it rounds back." if lost else ".")

    def picture(self) -> Picture:
        """Return the drawing: a row per format."""
        return Picture(self.sentence, ROW_PX * len(FORMATS), self._draw)

    def _stored(self, dtype: torch.dtype) -> float:
        return torch.tensor(self.weight).to(dtype).item()

    def _result(self, dtype: torch.dtype) -> float:
        stored = torch.tensor(self.weight).to(dtype)
        return (stored + torch.tensor(self.update).to(dtype)).item()

    def _place(self, value: float) -> float:
        """Return where a value lies, from 0 to 1; the row spans SPAN bf16 steps to each side."""
        reach = SPAN * gap_above(self.weight, torch.bfloat16)
        return (value - self.weight) / (2 * reach) + 0.5

    def _draw(self, parent: Element, pattern: str) -> None:
        for number, (name, dtype) in enumerate(FORMATS):
            row = svg.add(parent, "g", transform=f"translate(0 {number * ROW_PX})")
            svg.text(row, name, 0, 34)
            self._draw_ticks(row, dtype)
            self._draw_update(row, dtype)

    def _draw_ticks(self, row: Element, dtype: torch.dtype) -> None:
        left, right = svg.plot(0.0), svg.plot(1.0)
        svg.add(row, "line", x1=left, x2=right, y1=30, y2=30, stroke="currentColor")
        gap = gap_above(self.weight, dtype)
        title = f"next number {gap:.3g} away"
        if 2 * SPAN * gap_above(self.weight, torch.bfloat16) / gap > DENSE:
            svg.box(row, left, 24, right - left, 12, MEMORY["unsharded"], title=title)
            return
        value = self._stored(dtype)
        while self._place(value - gap) >= 0:
            value -= gap
        while self._place(value) <= 1:
            x = svg.plot(self._place(value))
            svg.add(row, "line", title, x1=x, x2=x, y1=22, y2=38, stroke="currentColor")
            value += gap

    def _draw_update(self, row: Element, dtype: torch.dtype) -> None:
        """Mark the exact sum as an outline and the stored one, filled."""
        result = self._result(dtype)
        exact = svg.plot(self._place(self.weight + self.update))
        svg.add(row, "circle", "exact sum", cx=exact, cy=30, r=6, fill=GROUND,
                stroke="currentColor", stroke_width="1.5", stroke_dasharray="2 2")  # fmt: skip
        place = svg.plot(self._place(result))
        svg.add(row, "circle", f"stored: {result:.9g}", cx=place, cy=30, r=4,
                fill=MEMORY["parameters"], stroke="currentColor", stroke_width="0.75")  # fmt: skip
        is_lost = result == self._stored(dtype)
        word = "lost" if is_lost else "moved"
        x, anchor = svg.beside(f"{word}: {result:.9g}", place)
        svg.text(row, f"{word}: {result:.9g}", x, 14, anchor=anchor, font_size=svg.SMALL_PX)


def gap_above(value: float, dtype: torch.dtype) -> float:
    """Return the distance from the stored value to the next larger number of the format."""
    stored = torch.tensor(value).to(dtype)
    above = torch.nextafter(stored, torch.tensor(torch.inf).to(dtype))
    return above.double().item() - stored.double().item()


def draw_spacing(weight: float, update: float) -> SpacingPicture:
    """Return a picture of `weight + update` on the number lines of bf16, fp16 and fp32."""
    return SpacingPicture(weight, update)
