"""A time axis: round numbers in one unit, as many as fit."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

from sandbox.pictures import svg
from sandbox.units import TIMES

HEIGHT_PX = 22
NUM_TICKS = 5


def draw(parent: Element, start_s: float, end_s: float, top: int) -> None:
    """Draw the axis of a window of time, a tick at round seconds since the call of launch."""
    svg.add(parent, "line", x1=svg.plot(0.0), x2=svg.plot(1.0), y1=top, y2=top,
            stroke="currentColor")  # fmt: skip
    for time_s, words in ticks(start_s, end_s):
        x = svg.plot((time_s - start_s) / (end_s - start_s))
        svg.add(parent, "line", x1=x, x2=x, y1=top, y2=top + 4, stroke="currentColor")
        anchor = "end" if x > 0.94 else "middle"
        svg.text(parent, words, x, top + 17, anchor=anchor, font_size=svg.SMALL_PX)


def ticks(start_s: float, end_s: float) -> list[tuple[float, str]]:
    """Return times in the window and their words: multiples of 1, 2 or 5 of a power of ten."""
    raw_s = (end_s - start_s) / NUM_TICKS
    power = 10.0 ** math.floor(math.log10(raw_s))
    step_s = next(m * power for m in (1, 2, 5, 10) if m * power >= raw_s * 0.999)
    unit, size = next((entry for entry in TIMES if end_s >= entry[1]), TIMES[-1])
    num_decimals = max(0, -math.floor(math.log10(step_s / size) + 1e-9))
    first = math.ceil(start_s / step_s - 1e-9)
    last = math.floor(end_s / step_s + 1e-9)
    return [
        (n * step_s, f"{n * step_s / size:,.{num_decimals}f} {unit}")
        for n in range(first, last + 1)
    ]
