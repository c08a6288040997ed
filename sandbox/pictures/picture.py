"""A picture: one sentence that says what to see, and a drawing under it, as SVG.

The standard library's ElementTree escapes whatever a learner's file names hold. A drawing library
would have to follow JupyterLab's theme through CSS variables, hatch, and export without a browser:
plotly and altair do not (and weigh megabytes in each notebook), svg.py does not escape.
"""

from __future__ import annotations

import base64
import re
import textwrap
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from xml.etree.ElementTree import Element, tostring

from sandbox.pictures import svg
from sandbox.pictures.palette import FONT, GROUND, TEXT, Texture

HTML, SVG, PLAIN = "text/html", "image/svg+xml", "text/plain"
WIDTH_PX = 800  # where the page does not say: GitHub, a static page
MAX_WIDTH_PX = 1100
LINE_PX = 18
GAP_PX = 14
LINE_CHARS = int(svg.NARROWEST_PX / svg.BOLD_CHARACTER_PX)
TOGETHER = re.compile(r"(?<=\d) (?=%|[mµ]?s\b|[kMGT]?B\b)|(?<=\bline|\brank) (?=\d)")
# JupyterLab shows SVG as an image, which neither follows the theme nor says anything when hovered.
# So the page is the image, and a script that puts the SVG itself in its place. Where scripts are
# stripped (GitHub, a notebook that is not trusted), the image stays, or at least its alt text.
UNWRAP = (
    "for (const img of document.querySelectorAll("
    "'.sandbox-picture > img[src^=\"data:image/svg+xml;base64,\"]')) "
    "img.outerHTML = new TextDecoder().decode("
    "Uint8Array.from(atob(img.src.split(',')[1]), (c) => c.charCodeAt(0)))"
)
# Selectors follow a picture in an output of their own, and draw the part that is chosen there: the
# whole makes room for it. In a notebook that was closed they have no kernel any more. JupyterLab
# would say so in their place, or, where their state was saved, show them as if they worked.
SELECTORS = "sandbox-selectors"
SELECTED = (
    f".jp-OutputArea-child:has(+ * .{SELECTORS}:not(.jupyter-widgets-disconnected) svg) "
    ".sandbox-picture, "
    f".{SELECTORS}.jupyter-widgets-disconnected, "
    ".jp-OutputArea:has(.sandbox-picture) > .jp-OutputArea-child > "
    ".jp-OutputArea-output.jupyter-widgets:not(:has(*)) {display:none !important}"
)

# A tile's width and height in pixels, and what is drawn in it.
TEXTURES = {
    Texture.HATCH: (6, 6, "M1 0V6"),
    Texture.DOTS: (8, 8, "M2 2h0M6 6h0"),
    Texture.BARS: (5, 5, "M1 0V5"),
}
STROKES = {Texture.HATCH: "1.2", Texture.DOTS: "2.4", Texture.BARS: "1.2"}


@dataclass(frozen=True)
class Picture:
    """A drawing of `height_px`. `draw` adds it to an element, given the name of the hatching."""

    sentence: str
    height_px: int
    draw: Callable[[Element, str], None]

    @property
    def lines(self) -> list[str]:
        """The sentence, wrapped so that it fits the narrowest page."""
        return wrap(self.sentence, LINE_CHARS)

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
    """Return a text as lines; a number stays with its unit, and with what it counts."""
    return textwrap.wrap(TOGETHER.sub("\u00a0", text), num_chars, break_on_hyphens=False)


def bundle(pictures: Sequence[Picture], plain: str) -> dict[str, str]:
    """Return what a notebook stores of pictures: a page, the bare SVG, and text."""
    drawn = render(pictures)
    alt = escape(" ".join(picture.sentence for picture in pictures), quote=True)
    encoded = base64.b64encode(drawn.encode()).decode()
    image = f'<img alt="{alt}" src="data:image/svg+xml;base64,{encoded}">'
    place = '<div class="sandbox-picture" style="overflow-x:auto;padding-top:4px">'
    return {HTML: f"{place}{image}<script>{UNWRAP}</script></div>", SVG: drawn, PLAIN: plain}


def render(pictures: Sequence[Picture]) -> str:
    """Return one SVG with the pictures beneath each other.

    It is as wide as the page, and text keeps its size: nothing in it scales. It has a white ground
    where no theme says otherwise.
    """
    sentences = " ".join(picture.sentence for picture in pictures)
    height_px = sum(len(p.lines) * LINE_PX + p.height_px + GAP_PX for p in pictures)
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "role": "img",
            "aria-label": sentences,
            "width": str(WIDTH_PX),
            "height": str(height_px),
            "style": f"display:block;width:100%;min-width:{svg.NARROWEST_PX - 10}px;"
            f"max-width:{MAX_WIDTH_PX}px;height:{height_px}px;color:{TEXT};"
            f"background:{GROUND};font-family:{FONT};font-size:{svg.FONT_PX}px;fill:{TEXT}",
        },
    )
    svg.add(root, "style").text = SELECTED
    # Its own name in each picture: a pattern of one that is folded away is not painted elsewhere.
    pattern = f"hatch-{zlib.crc32(sentences.encode()):08x}"
    _add_textures(root, pattern)
    top = 0
    for picture in pictures:
        for line in picture.lines:
            top += LINE_PX
            svg.text(root, line, 0, top - 5, font_weight="600")
        place = svg.add(root, "g", transform=f"translate(0 {top})")
        picture.draw(place, pattern)
        top += picture.height_px + GAP_PX
    return tostring(root, encoding="unicode")


def _add_textures(root: Element, pattern: str) -> None:
    defs = svg.add(root, "defs")
    for texture, (width, height, path) in TEXTURES.items():
        turned = {"patternTransform": "rotate(45)"} if texture is Texture.HATCH else {}
        place = svg.add(
            defs, "pattern", id=svg.name_texture(pattern, texture), width=width, height=height,
            patternUnits="userSpaceOnUse", **turned,
        )  # fmt: skip
        svg.add(place, "path", d=path, stroke="currentColor", stroke_width=STROKES[texture],
                stroke_linecap="round" if texture is Texture.DOTS else "butt")  # fmt: skip
