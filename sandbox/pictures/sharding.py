"""A picture of who holds what of each parameter: a rank is a box, its shard a strip inside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from sandbox.failure import name_ranks
from sandbox.pictures import svg
from sandbox.pictures.palette import MEMORY, on
from sandbox.pictures.picture import Drawn, Picture, wrap

if TYPE_CHECKING:
    from torch import nn
    from torch.distributed.tensor import DTensor

LINE_PX, ROW_PX, BOX_PX, AFTER_PX = 16, 26, 20, 10
TITLE_CHARS = int(svg.NARROWEST_PX / svg.CHARACTER_PX)


@dataclass(frozen=True)
class Part:
    """What one rank holds of a tensor: rows (or elements), columns if it has any, padding rows."""

    rank: int
    rows: tuple[int, int]  # first, and the one after the last
    columns: tuple[int, int] | None
    padding: int

    @property
    def numel(self) -> int:
        """Elements, not counting dims beyond the second, which every part holds whole."""
        columns = 1 if self.columns is None else self.columns[1] - self.columns[0]
        return (self.rows[1] - self.rows[0]) * columns


@dataclass(frozen=True)
class Layout:
    """How tensors of one shape are laid out on ranks; `slots` are its rows with padding."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    how: str
    unit: str  # what is counted: "rows", or "elements" of a flattened tensor
    slots: int
    parts: tuple[Part, ...]

    def numel_of(self, rank: int) -> int:
        """Return the elements that a rank holds of all tensors that are laid out so."""
        inner = 1
        for size in self.shape[2:] if self.unit == "rows" else ():
            inner *= size
        return len(self.names) * inner * sum(p.numel for p in self.parts if p.rank == rank)


@dataclass(frozen=True, repr=False)
class Sharding(Drawn):
    """Which rank holds which rows of each parameter; plain data, so a rank may return it."""

    layouts: tuple[Layout, ...]
    what: str = "parameter"  # what a layout is of

    @property
    def sentence(self) -> str:
        """What there is to see; also the picture's plain form."""
        ranks = sorted({part.rank for layout in self.layouts for part in layout.parts})
        if not ranks:
            return "The model has no parameters."
        held = {rank: sum(layout.numel_of(rank) for layout in self.layouts) for rank in ranks}
        number = sum(len(layout.names) for layout in self.layouts)
        tensors = f"{number} {self.what}{'s' * (number != 1)}"
        least, most = min(held.values()), max(held.values())
        if least == most:
            what = f"each rank holds {most:,} elements"
            what = what if len(ranks) > 1 else f"it holds {most:,} elements"
        else:
            low = name_ranks([rank for rank in ranks if held[rank] == least])
            high = name_ranks([rank for rank in ranks if held[rank] == most])
            hold = "holds" if high.startswith("rank ") else "hold"
            what = f"{high} {hold} most, {most:,} elements, and {low} fewest, {least:,}"
        hatched = any(part.padding for layout in self.layouts for part in layout.parts)
        padding = " Padding is hatched." if hatched else ""
        return f"{tensors} on {name_ranks(ranks)}: {what}.{padding}"

    def picture(self) -> Picture:
        """Return the drawing: a block per layout, a row per rank."""
        heights = [_height_px(layout) for layout in self.layouts]

        def draw(parent: Element, pattern: str) -> None:
            top = 0
            for layout, height in zip(self.layouts, heights, strict=True):
                block = svg.add(parent, "g", transform=f"translate(0 {top})")
                _draw_layout(block, layout, pattern)
                top += height

        return Picture(self.sentence, sum(heights), draw)


def show_sharding(model: nn.Module | DTensor) -> Sharding:
    """Return a picture of which rank holds which rows of each parameter of `model`.

    A single DTensor is drawn as well; ValueError for anything else.

    Knows DTensors (FSDP2, tensor parallel, meshes of any number of axes), ZeRO-3's partitions,
    FSDP1's flat parameters; what is none of these is whole on each rank. Computed from the meshes
    and placements that every rank knows: no collective, and any one rank may call this. Return it
    from a function of `launch`, or write it last in a %%ranks cell.
    """
    from torch import nn
    from torch.distributed.tensor import DTensor

    from sandbox.pictures.layout import layout_of, layouts_of

    if isinstance(model, DTensor):
        return Sharding((layout_of("DTensor", model),), "tensor")
    if not isinstance(model, nn.Module):
        raise ValueError(
            f"show_sharding got {model!r:.60}, a {type(model).__name__}; expected a module or a "
            "DTensor. Hint: call it in a rank, as in %%ranks, with the model there."
        )
    return Sharding(tuple(layouts_of(model)))


def title_of(layout: Layout) -> list[str]:
    """Return what stands above a block: the names that share it, shape, placements, in lines."""
    number = f", {len(layout.names)} alike" if len(layout.names) > 1 else ""
    facts = f"{layout.shape}{number} · {layout.how}"
    names = shorten(layout.names, TITLE_CHARS)
    line = f"{names} {facts}"
    return [line] if len(line) <= TITLE_CHARS else [names, *wrap(facts, TITLE_CHARS)]


def shorten(names: Sequence[str], room: int) -> str:
    """Return the first of the names with its numbers as *; its start is cut if it is too long."""
    patterns = list(dict.fromkeys(re.sub(r"(?<![^.])\d+(?![^.])", "*", name) for name in names))
    first = patterns[0] if len(names) > 1 else names[0]
    more = ", …" if len(patterns) > 1 else ""
    room -= len(more)
    return (first if len(first) <= room else f"…{first[1 - room :]}") + more


def _height_px(layout: Layout) -> int:
    return LINE_PX * len(title_of(layout)) + 4 + ROW_PX * len(layout.parts) + AFTER_PX


def _draw_layout(block: Element, layout: Layout, pattern: str) -> None:
    lines = title_of(layout)
    for number, line in enumerate(lines):
        element = svg.text(block, line, 0, 14 + number * LINE_PX)
        svg.add(element, "title").text = "\n".join(layout.names)
    for number, part in enumerate(layout.parts):
        top = LINE_PX * len(lines) + 4 + number * ROW_PX
        row = svg.add(block, "g", transform=f"translate(0 {top})")
        _draw_part(row, layout, part, pattern)


def _draw_part(row: Element, layout: Layout, part: Part, pattern: str) -> None:
    svg.text(row, f"rank {part.rank}", 0, 15)
    fill, unit = MEMORY["parameters"], (svg.RIGHT - svg.LEFT) / max(1, layout.slots)
    svg.add(row, "rect", x=svg.plot(0.0), y=0, width=svg.RIGHT - svg.LEFT, height=BOX_PX,
            fill="none", stroke="currentColor", stroke_width="0.5")  # fmt: skip
    first, stop = part.rows
    x, width = svg.LEFT + first * unit, (stop - first) * unit
    if part.padding:
        title = f"rank {part.rank}: {part.padding} {layout.unit} of padding"
        svg.box(row, x + width, 0, part.padding * unit, BOX_PX, f"url(#{pattern})", title=title)
    if stop == first:
        return
    top, height = 0, BOX_PX
    words = f"{layout.unit} {first}–{stop - 1}"
    if part.columns is not None and part.columns != (0, layout.shape[1]):
        scale = BOX_PX / layout.shape[1]
        top = round(part.columns[0] * scale)
        height = max(2, round(part.columns[1] * scale) - top)
        words += f", columns {part.columns[0]}–{part.columns[1] - 1}"
    title = f"rank {part.rank}: {words} of {layout.shape}"
    svg.box(row, x, top, width, height, fill, title=title)
    if height < BOX_PX:
        _write_beside(row, words, x, width)
        return
    ends = f"{first}", f"{stop - 1}"
    if first < stop - 1 and svg.fits("".join(ends) + "  ", width):
        inside = svg.add(row, "g", fill=on(fill), font_size=svg.SMALL_PX, pointer_events="none")
        svg.text(inside, ends[0], x + 0.008, 15)
        svg.text(inside, ends[1], x + width - 0.008, 15, anchor="end")
    elif first == stop - 1 and svg.fits(ends[0], width):
        svg.label(row, ends[0], x + width / 2, 15, fill)
    else:
        _write_beside(row, f"{first}" if first == stop - 1 else f"{first}–{stop - 1}", x, width)


def _write_beside(row: Element, words: str, x: float, width: float) -> None:
    """Write beside a strip, on the side that has the room, if one has."""
    if svg.fits(words, svg.RIGHT - x - width):
        svg.text(row, words, x + width + 0.008, 15, font_size=svg.SMALL_PX, style=svg.SEAM)
    elif svg.fits(words, x - svg.LEFT):
        svg.text(row, words, x - 0.008, 15, anchor="end", font_size=svg.SMALL_PX, style=svg.SEAM)
