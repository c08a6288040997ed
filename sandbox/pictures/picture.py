"""A picture: one sentence that says what to see, and a drawing under it, as SVG.

The standard library's ElementTree escapes whatever a learner's file names hold. A drawing library
would have to follow JupyterLab's theme through CSS variables, hatch, and export without a browser:
plotly and altair do not (and weigh megabytes in each notebook), svg.py does not escape.
"""

from __future__ import annotations

import re
import textwrap
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, tostring

from sandbox.pictures import svg
from sandbox.pictures.palette import FONT, GROUND, TEXT, Texture

HTML, SVG, PLAIN = "text/html", "image/svg+xml", "text/plain"
WIDTH_PX = 800  # of an SVG on its own; a page gives its drawings the width that it has
LINE_PX = 18
GAP_PX = 14
LINE_CHARS = int(WIDTH_PX / svg.BOLD_CHARACTER_PX)
TOGETHER = re.compile(r"(?<=\d) (?=%|[mµ]?s\b|[kMGT]?B\b)|(?<=\bline|\brank) (?=\d)")
# A tile's width and height in pixels, and what is drawn in it.
TEXTURES = {
    Texture.HATCH: (6, 6, "M1 0V6"),
    Texture.DOTS: (8, 8, "M2 2h0M6 6h0"),
    Texture.BARS: (5, 5, "M1 0V5"),
}
STROKES = {Texture.HATCH: "1.2", Texture.DOTS: "2.4", Texture.BARS: "1.2"}


@dataclass(frozen=True)
class Picture:
    """A drawing of `height_px`. `draw` adds it to an element, given the name of the hatching.

    A page that is narrower than `narrowest_px` scrolls. `notes` stand under the drawing.
    """

    sentence: str
    height_px: int
    draw: Callable[[Element, str], None]
    notes: Sequence[str] = ()
    narrowest_px: int = svg.NARROWEST_PX

    def __repr__(self) -> str:
        return self.sentence

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return bundle([self], self.sentence)


class Drawn:
    """Plain data that draws itself: in a notebook as a picture, elsewhere as its sentence."""

    def picture(self) -> Picture:
        """Return the drawing and its sentence."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.picture().sentence

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return bundle([self.picture()], repr(self))


def wrap(text: str, num_chars: int) -> list[str]:
    """Return a text as lines, broken at spaces."""
    return textwrap.wrap(bind(text), num_chars, break_on_hyphens=False)


def bind(text: str) -> str:
    """Return a text in which a number stays with its unit, and with what it counts."""
    return TOGETHER.sub("\u00a0", text)


def bundle(pictures: Sequence[Picture], plain: str) -> dict[str, str]:
    """Return what a notebook stores of pictures: a page, one SVG, and text."""
    from sandbox.pictures.page import write_page

    return {HTML: write_page(pictures), SVG: render(pictures), PLAIN: plain}


def render(pictures: Sequence[Picture]) -> str:
    """Return one SVG, for where there is no page, with the pictures beneath each other.

    A narrower place scales it. It has a white ground where no theme says otherwise.
    """
    sentences = " ".join(picture.sentence for picture in pictures)
    words = [
        (wrap(p.sentence, LINE_CHARS), [line for n in p.notes for line in wrap(n, LINE_CHARS)])
        for p in pictures
    ]
    num_lines = sum(len(above) + len(below) for above, below in words)
    height_px = num_lines * LINE_PX + sum(p.height_px + GAP_PX for p in pictures)
    style = "max-width:100%;height:auto"
    root = make_root(sentences, WIDTH_PX, height_px, style, viewBox=f"0 0 {WIDTH_PX} {height_px}")
    pattern = add_textures(root, sentences)
    top = 0
    for picture, (above, below) in zip(pictures, words, strict=True):
        top = _write(root, above, top, font_weight="600")
        place = svg.add(root, "g", transform=f"translate(0 {top})")
        picture.draw(place, pattern)
        top = _write(root, below, top + picture.height_px, font_size=svg.SMALL_PX) + GAP_PX
    return tostring(root, encoding="unicode")


def make_root(
    sentence: str, width: int | float, height_px: int, style: str, **more: str
) -> Element:
    """Return the element of an SVG; a float is a fraction of the page's width."""
    return svg.make(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_label=sentence,
        width=width,
        height=height_px,
        style=f"display:block;{style};color:{TEXT};background:{GROUND};"
        f"font-family:{FONT};font-size:{svg.FONT_PX}px;fill:{TEXT}",
        **more,
    )


def _write(root: Element, lines: Sequence[str], top: int, **more: Any) -> int:
    for line in lines:
        top += LINE_PX
        svg.text(root, line, 0, top - 5, **more)
    return top


def add_textures(root: Element, sentence: str) -> str:
    """Define the textures of a picture, and return the name of its hatching.

    Its own in each picture: a pattern of one that is folded away is not painted elsewhere.
    """
    pattern = f"hatch-{zlib.crc32(sentence.encode()):08x}"
    defs = svg.add(root, "defs")
    for texture, (width, height, path) in TEXTURES.items():
        turned = {"patternTransform": "rotate(45)"} if texture is Texture.HATCH else {}
        place = svg.add(
            defs, "pattern", id=svg.name_texture(pattern, texture), width=width, height=height,
            patternUnits="userSpaceOnUse", **turned,
        )  # fmt: skip
        svg.add(place, "path", d=path, stroke="currentColor", stroke_width=STROKES[texture],
                stroke_linecap="round" if texture is Texture.DOTS else "butt")  # fmt: skip
    return pattern
