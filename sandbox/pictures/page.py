"""Pictures as a page: sentences that wrap at any width, drawings as wide as the page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from xml.etree.ElementTree import tostring

from sandbox.pictures import svg
from sandbox.pictures.picture import GAP_PX, Picture, add_textures, bind, make_root

MAX_WIDTH_PX = 1100
# JupyterLab shows SVG as an image, which neither follows the theme nor says anything when hovered.
# So the page holds images, and a script that puts the SVG itself in their place. Where scripts are
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
# ipywidgets draws the arrows of drop-down lists in black, also on a dark ground.
ARROWS = (
    f"[data-jp-theme-light=false] .{SELECTORS} {{--jp-widgets-dropdown-arrow:url("
    "\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'%3E"
    "%3Cpath fill='none' stroke='%23fff' stroke-width='1.5' d='M5 7l4 4 4-4'/%3E%3C/svg%3E\")}"
)


def write_page(pictures: Sequence[Picture]) -> str:
    """Return HTML with the drawings as images, and the script that puts SVG in their place."""
    parts = []
    for picture in pictures:
        encoded = base64.b64encode(draw(picture).encode()).decode()
        alt, style = escape(picture.sentence), f"display:block;{_size(picture)}"
        image = f'<img alt="{alt}" style="{style}" src="data:image/svg+xml;base64,{encoded}">'
        parts.append(_frame(picture, image))
    return _place(f"{''.join(parts)}<script>{UNWRAP}</script>", "sandbox-picture")


def write_live(pictures: Sequence[Picture]) -> str:
    """Return HTML with the drawings themselves, for where scripts do not run but SVG is shown."""
    return _place("".join(_frame(p, draw(p)) for p in pictures), "sandbox-part")


def draw(picture: Picture) -> str:
    """Return the drawing as SVG, without its words. Text keeps its size: nothing in it scales."""
    root = make_root(picture.sentence, 1.0, picture.height_px, _size(picture))
    svg.add(root, "style").text = f"{SELECTED} {ARROWS}"
    picture.draw(root, add_textures(root, picture.sentence))
    return tostring(root, encoding="unicode")


def _size(picture: Picture) -> str:
    return (
        f"width:100%;min-width:{picture.narrowest_px}px;max-width:{MAX_WIDTH_PX}px;"
        f"height:{picture.height_px}px"
    )


def _frame(picture: Picture, drawing: str) -> str:
    notes = "".join(_paragraph(escape(bind(note)), svg.SMALL_PX) for note in picture.notes)
    sentence = _paragraph(f"<strong>{escape(bind(picture.sentence))}</strong>", svg.FONT_PX)
    return f'{sentence}{drawing}{notes}<div style="height:{GAP_PX}px"></div>'


def _paragraph(content: str, size_px: int) -> str:
    style = f"margin:0;max-width:{MAX_WIDTH_PX}px;font-size:{size_px}px;line-height:{size_px + 5}px"
    return f'<p style="{style}">{content}</p>'


def _place(content: str, name: str) -> str:
    return f'<div class="{name}" style="overflow-x:auto;padding-top:4px">{content}</div>'
