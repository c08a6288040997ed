"""A text in a drawing that wraps at the width there is: HTML inside the SVG."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from sandbox.pictures import svg
from sandbox.pictures.picture import WIDTH_PX, bind, wrap

LINE_PX = 14
# Programs that are no browsers know no HTML; they take the lines that are beside it in the switch.
NEEDS = "http://www.w3.org/TR/SVG11/feature#Extensibility"


def write(place: Element, content: str, left: int, top: int, num_lines: int) -> None:
    """Write small text from `left` to the right end, in the middle of so many lines.

    What has no room there is left out, with an ellipsis.
    """
    height = num_lines * LINE_PX
    either = svg.add(place, "switch")
    foreign = svg.add(
        either, "foreignObject", x=left, y=top, width=WIDTH_PX - left, height=height,
        style=f"width:calc(100% - {left}px)", requiredFeatures=NEEDS,
    )  # fmt: skip
    font = f"font-size:{svg.SMALL_PX}px;line-height:{LINE_PX}px"
    middle = svg.add(
        foreign, "div", xmlns="http://www.w3.org/1999/xhtml",
        style=f"display:flex;align-items:center;height:{height}px;{font}",
    )  # fmt: skip
    clamp = f"display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:{num_lines}"
    svg.add(middle, "div", style=f"{clamp};overflow:hidden").text = bind(content)
    room = int((WIDTH_PX - left) / svg.SMALL_CHARACTER_PX)
    lines = wrap(content, room)
    if len(lines) > num_lines:
        lines = [*lines[: num_lines - 1], f"{lines[num_lines - 1][: room - 2]} …"]
    first = top + (height - LINE_PX * len(lines)) // 2 + LINE_PX - 3
    beside = svg.add(either, "g", font_size=svg.SMALL_PX)
    for number, line in enumerate(lines):
        svg.text(beside, line, left, first + number * LINE_PX)
