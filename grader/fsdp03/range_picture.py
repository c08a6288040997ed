"""Draw how large gradients are, by powers of two, and which of them fp16 cannot hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from grader import verdict
from grader.fsdp03.fp16_range import HALF_OF_SMALLEST, LargestScale
from sandbox.pictures import svg
from sandbox.pictures.palette import MEMORY
from sandbox.pictures.picture import Drawn, Picture

ROW_PX = 84
BARS_PX = 54
LOWEST, HIGHEST = -40, 20  # exponents that are drawn; fp16 reaches from -25, rounded, to 16


@dataclass(frozen=True, repr=False)
class RangePicture(Drawn):
    """Per scale a row of bars: how many gradients have which exponent; what fp16 loses, hatched."""

    counts: Sequence[tuple[float, Counter[int]]]  # (scale, gradients by exponent)

    @property
    def sentence(self) -> str:
        """Say how many gradients are lost at each scale."""
        parts = [
            f"scale {_power(scale)}: {_num_lost(counts):,} of {counts.total():,}"
            for scale, counts in self.counts
        ]
        return f"Gradients that fp16 cannot hold (hatched), at {'; at '.join(parts)}."

    def picture(self) -> Picture:
        """Return the drawing: a row of bars per scale."""
        return Picture(self.sentence, ROW_PX * len(self.counts), self._draw)

    def _draw(self, parent: Element, pattern: str) -> None:
        tallest = max((max(counts.values()) for _, counts in self.counts if counts), default=1)
        for number, (scale, counts) in enumerate(self.counts):
            row = svg.add(parent, "g", transform=f"translate(0 {number * ROW_PX})")
            svg.text(row, f"× {_power(scale)}", 0, BARS_PX, font_size=svg.SMALL_PX)
            for exponent, count in sorted(counts.items()):
                _draw_bar(row, exponent, count, tallest, pattern)
            _draw_axis(row)


def _draw_bar(row: Element, exponent: int, count: int, tallest: int, pattern: str) -> None:
    width = (svg.RIGHT - svg.LEFT) / (HIGHEST - LOWEST)
    x = svg.plot((min(max(exponent, LOWEST), HIGHEST - 1) - LOWEST) / (HIGHEST - LOWEST))
    height = max(1, round((BARS_PX - 6) * count / tallest))
    top = BARS_PX - height
    title = f"{count:,} gradients from 2^{exponent} to 2^{exponent + 1}"
    svg.box(row, x, top, width, height, MEMORY["gradients"], title=title)
    if _is_lost(exponent):
        svg.cover(row, x, top, width, height, pattern)


def _draw_axis(row: Element) -> None:
    svg.add(row, "line", x1=svg.plot(0.0), x2=svg.plot(1.0), y1=BARS_PX, y2=BARS_PX,
            stroke="currentColor")  # fmt: skip
    for exponent, name in ((-25, "below 2^-25: 0"), (16, "from 2^16: inf")):
        x = svg.plot((exponent - LOWEST) / (HIGHEST - LOWEST))
        svg.add(row, "line", x1=x, x2=x, y1=4, y2=BARS_PX + 4, stroke="currentColor",
                stroke_dasharray="3 2")  # fmt: skip
        svg.text(row, name, x, BARS_PX + 18, anchor="middle", font_size=svg.SMALL_PX)


def _is_lost(exponent: int) -> bool:
    return exponent < math.log2(HALF_OF_SMALLEST) or exponent >= 16


def _num_lost(counts: Counter[int]) -> int:
    return sum(count for exponent, count in counts.items() if _is_lost(exponent))


def _power(scale: float) -> str:
    """Return "2^37" for a power of two, and "3.2e+07" for what is none."""
    mantissa, exponent = math.frexp(scale)
    return f"2^{exponent - 1}" if mantissa == 0.5 and scale != 1 else f"{scale:.3g}"


def draw_range(gradients: Tensor, largest_scale: LargestScale) -> RangePicture | None:
    """Return a picture of the gradients as they are, and lifted by `largest_scale`."""
    try:
        scale = float(largest_scale(gradients))
    except NotImplementedError:
        verdict.show(verdict.not_solved("draw_range", "largest_scale"))
        return None
    return RangePicture([(each, count_exponents(gradients * each)) for each in (1.0, scale)])


def count_exponents(gradients: Tensor) -> Counter[int]:
    """Return how many gradients lie from 2^e to 2^(e + 1), by e; zeros are left out."""
    sizes = gradients.double().abs()
    exponents = torch.floor(torch.log2(sizes[sizes > 0])).int()
    return Counter(exponents.tolist())
