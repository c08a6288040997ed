"""What fills and textures mean, in words directly above a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from sandbox.event import Op
from sandbox.pictures import palette, svg
from sandbox.pictures.palette import Texture

LINE_PX = 20
SWATCH_PX = 14
ROOM_PX = int((svg.RIGHT - svg.LEFT) * svg.NARROWEST_PX)


class Entry(NamedTuple):
    """One swatch: what it means, its fill, and what lies over that."""

    meaning: str
    fill: str
    texture: Texture = Texture.NONE


def of_operations(ops: Iterable[Op]) -> list[Entry]:
    """Return an entry for each operation, by name."""
    by_name = sorted(set(ops), key=lambda op: op.value)
    return [Entry(op.value, palette.of_operation(op), palette.texture_of(op)) for op in by_name]


def height_px(entries: Sequence[Entry]) -> int:
    """Return the height of the key."""
    return LINE_PX * len(_lines(entries)) + 4


def draw(parent: Element, heading: str, entries: Sequence[Entry], pattern: str) -> None:
    """Draw a swatch and a word for each entry, in as many lines as the narrowest page needs.

    The heading says, where ranks' names stand, what ranks do with these: two charts of a page may
    have the same colours.
    """
    svg.text(parent, heading, 0, 15, font_size=svg.SMALL_PX)
    place = svg.in_pixels(parent, svg.LEFT, 0)
    for number, line in enumerate(_lines(entries)):
        x = 0
        for meaning, fill, texture in line:
            y = number * LINE_PX + 3
            swatch: dict[str, Any] = {"x": x, "y": y, "width": SWATCH_PX, "height": SWATCH_PX}
            svg.add(place, "rect", fill=fill, stroke="currentColor", stroke_width="0.75", **swatch)
            svg.cover(place, x, y, SWATCH_PX, SWATCH_PX, pattern, texture)
            svg.text(place, meaning, x + SWATCH_PX + 5, y + 12, font_size=svg.SMALL_PX)
            x += _width_px(meaning)


def _lines(entries: Sequence[Entry]) -> list[list[Entry]]:
    lines: list[list[Entry]] = []
    room = 0
    for entry in entries:
        room -= _width_px(entry.meaning)
        if not lines or room < 0:
            lines.append([])
            room = ROOM_PX - _width_px(entry.meaning)
        lines[-1].append(entry)
    return lines


def _width_px(meaning: str) -> int:
    return SWATCH_PX + 16 + int(len(meaning) * svg.SMALL_CHARACTER_PX)
