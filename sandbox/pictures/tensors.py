"""A tensor across ranks: each rank a box, its numbers inside, or what it has of a large one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from sandbox.failure import describe_others, name_ranks
from sandbox.pictures import svg
from sandbox.pictures.cell_value import TensorValue
from sandbox.pictures.picture import Drawn, Picture

CELL_PX = 22
BETWEEN_PX = 10
DIGIT_PX = 7.5
ROOM_PX = 400  # for the numbers of a row, in cells of one width


@dataclass(frozen=True, repr=False)
class TensorPicture(Drawn):
    """The values of the ranks, in their order; in plain text each one's repr, the same merged."""

    values: Mapping[int, TensorValue]

    @property
    def sentence(self) -> str:
        """Say what there is to see."""
        ranks = name_ranks(list(self.values)).capitalize()
        shapes = {(value.dtype, value.shape) for value in self.values.values()}
        dtype, shape = next(iter(shapes))
        what = f"{dtype} {shape} each" if len(shapes) == 1 else "tensors of different shapes"
        whole = next(iter(self.values.values())).whole
        of_whole = f", parts of {whole}" if whole else ""
        differ = len({value.text for value in self.values.values()})
        count = "all different" if differ == len(self.values) else f"{differ} different values"
        return f"{ranks}: {what}{of_whole}, {count}."

    def __repr__(self) -> str:
        return "\n".join(describe_others({rank: v.text for rank, v in self.values.items()}))

    def picture(self) -> Picture:
        """Return the drawing: a row per rank."""
        width = max(_cell_px(value) for value in self.values.values())
        heights = {rank: _height_px(value) for rank, value in self.values.items()}

        def draw(parent: Element, pattern: str) -> None:
            top = 2
            for rank, value in self.values.items():
                row = svg.add(parent, "g", transform=f"translate(0 {top})")
                svg.text(row, f"rank {rank}", 0, 16)
                _draw_value(svg.in_pixels(row, svg.LEFT, 0), rank, value, width)
                top += heights[rank]

        room = max(_room_px(value, width) for value in self.values.values())
        narrowest = max(svg.NARROWEST_PX, math.ceil(room / (1 - svg.LEFT)))
        return Picture(self.sentence, sum(heights.values()), draw, narrowest_px=narrowest)


def _height_px(value: TensorValue) -> int:
    return CELL_PX * len(value.cells or [()]) + BETWEEN_PX


def _cell_px(value: TensorValue) -> int:
    """Return how wide its numbers are."""
    lengths = [len(cell) for row in value.cells or () for cell in row]
    return int(max(lengths, default=0) * DIGIT_PX) + 12


def _width_px(value: TensorValue, width: int) -> int:
    """Return how wide its cells are drawn, given how wide the widest of any rank is."""
    if value.cells is None:
        return int(len(value.summary) * svg.CHARACTER_PX) + 16
    is_too_wide = len(value.cells[0]) * width > ROOM_PX  # another rank's are wider, and fewer
    return _cell_px(value) if is_too_wide else width


def _room_px(value: TensorValue, width: int) -> int:
    """Return how much room a rank's row needs, beside its name."""
    columns = len(value.cells[0]) if value.cells else 1
    where = int(len(value.where) * svg.SMALL_CHARACTER_PX) + 12 if value.cells else 2
    return columns * _width_px(value, width) + where


def _draw_value(place: Element, rank: int, value: TensorValue, width: int) -> None:
    if value.cells is None:
        _draw_cell(place, 0, 0, _width_px(value, width), value.summary, f"rank {rank}")
        return
    width = _width_px(value, width)
    for number, row in enumerate(value.cells):
        first = 0 if value.rows is None else value.rows[0]
        for column, cell in enumerate(row):
            index = f"[{first + number}, {column}]" if len(value.shape) == 2 else f"[{column}]"
            if len(value.shape) == 1 and value.rows is not None:
                index = f"[{first + column}]"
            title = f"rank {rank}: {cell} at {index}" if value.shape else f"rank {rank}: {cell}"
            _draw_cell(place, column * width, number * CELL_PX, width, cell, title)
    end = len(value.cells[0]) * width + 10
    if value.rows is not None:
        svg.text(place, value.where, end, 16, font_size=svg.SMALL_PX)


def _draw_cell(place: Element, x: int, y: int, width: int, words: str, title: str) -> None:
    svg.add(place, "rect", title, x=x, y=y, width=width, height=CELL_PX, fill="none",
            stroke="currentColor", stroke_width="0.75", pointer_events="all")  # fmt: skip
    svg.text(place, words, x + width - 6, y + 16, anchor="end", pointer_events="none")
