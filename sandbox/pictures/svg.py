"""Elements of a drawing: across in fractions of the width, down in pixels, all text escaped."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement

from sandbox.pictures.palette import GROUND, Texture, on

FONT_PX = 13
SMALL_PX = 12
# A character's width on average, in the widest font that is common (DejaVu Sans, on Linux).
CHARACTER_PX, SMALL_CHARACTER_PX, BOLD_CHARACTER_PX = 7.2, 6.8, 7.4
NARROWEST_PX = 330  # what is left of an 800 px window beside JupyterLab's files and prompts
# Ranks' names stand to the left of LEFT, the drawing between LEFT and RIGHT.
LEFT, RIGHT = 0.15, 0.99
# For text over lines: a seam of the ground around the letters.
SEAM = f"paint-order:stroke;stroke:{GROUND};stroke-width:4px"


def plot(fraction: float) -> float:
    """Return where a fraction of the drawing's width lies on the whole width."""
    return LEFT + (RIGHT - LEFT) * fraction


def fits(text: str, fraction: float) -> bool:
    """Whether a text fits into a fraction of the whole width, in the narrowest window too."""
    return len(text) * CHARACTER_PX + 6 <= fraction * NARROWEST_PX


def make(tag: str, **attributes: Any) -> Element:
    """Return an element. Floats are fractions of the width, ints are pixels."""
    named = {name.rstrip("_").replace("_", "-"): _value(v) for name, v in attributes.items()}
    return Element(tag, named)


def add(parent: Element, tag: str, title: str = "", **attributes: Any) -> Element:
    """Append an element, as `make` makes it; `title` is shown when it is hovered."""
    element = make(tag, **attributes)
    parent.append(element)
    if title:
        SubElement(element, "title").text = title
    return element


def text(
    parent: Element, content: str, x: float | int, y: int, *, anchor: str = "start", **more: Any
) -> Element:
    """Append a line of text, its baseline at `y`."""
    element = add(parent, "text", x=x, y=y, text_anchor=anchor, **more)
    element.text = content
    return element


def text_at(parent: Element, content: str, x: float, y: int, **more: Any) -> Element:
    """Append a line of text about `x`, with as much of it to the left as there is of the drawing.

    So it is cut off at no width, and never far from `x`.
    """
    anchor, shift = ("end", 1 - x) if x > 0.5 else ("start", -x)
    style = f"transform-box:fill-box;transform:translateX({_value(shift)})"
    return text(parent, content, x, y, anchor=anchor, style=style, **more)


def box(
    parent: Element,
    x: float,
    y: int,
    width: float,
    height: int,
    fill: str,
    *,
    title: str = "",
    **more: Any,
) -> Element:
    """Append a filled rectangle, outlined in the text colour."""
    return add(
        parent, "rect", title, x=x, y=y, width=width, height=height, fill=fill,
        **{"stroke": "currentColor", "stroke_width": "0.75"} | more,
    )  # fmt: skip


def cover(
    parent: Element,
    x: float,
    y: int,
    width: float,
    height: int,
    pattern: str,
    texture: Texture = Texture.HATCH,
) -> None:
    """Lay a texture, if any, over a rectangle: waiting, say. It lets the pointer through."""
    if texture is not Texture.NONE:
        add(
            parent, "rect", x=x, y=y, width=width, height=height,
            fill=f"url(#{name_texture(pattern, texture)})", pointer_events="none",
        )  # fmt: skip


def name_texture(pattern: str, texture: Texture) -> str:
    """Return the name under which a picture holds a texture, given that of its hatching."""
    return pattern if texture is Texture.HATCH else f"{pattern}-{texture.value}"


def label(
    parent: Element, content: str, middle: float, y: int, fill: str, seam_px: int = 5
) -> None:
    """Write on a fill, in what can be read there, with a seam of the fill around the letters."""
    style = (
        f"paint-order:stroke;stroke:{fill};stroke-width:{seam_px}px;stroke-linejoin:round;"
        "pointer-events:none"
    )
    text(parent, content, middle, y, anchor="middle", fill=on(fill), style=style)


def in_pixels(parent: Element, x: float, y: int) -> Element:
    """Return a place at a fraction of the width, within which widths are pixels as well."""
    return add(parent, "svg", x=x, y=y, overflow="visible")


def beside(content: str, x: float) -> tuple[float, str]:
    """Return where and how to anchor a small text at `x` so that it is not cut off."""
    width = len(content) * SMALL_CHARACTER_PX / NARROWEST_PX
    if x + width <= 1.0:
        return x, "start"
    return (x, "end") if x >= width else (max(0.0, 1.0 - width), "start")


def stretched(parent: Element, y: int, height: int) -> Element:
    """Return a place between LEFT and RIGHT, for paths: they know no per cent, so it is 1000 wide.

    The style repeats the attributes: JupyterLab's own for any svg says `height: auto`.
    """
    return add(
        parent, "svg", x=LEFT, y=y, width=RIGHT - LEFT, height=height,
        viewBox=f"0 0 1000 {height}", preserveAspectRatio="none",
        style=f"width:{_value(RIGHT - LEFT)};height:{height}px",
    )  # fmt: skip


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value * 100:.3f}".rstrip("0").rstrip(".") + "%"
    return str(value)
