"""Made-up events, and what a drawing says: its texts, titles and colours, read back as XML."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from sandbox.event import Event, Op
from sandbox.pictures.picture import Picture, render

SVG_NAMESPACE = "{http://www.w3.org/2000/svg}"


def make_event(rank: int, start_s: float, end_s: float | None, **fields: Any) -> Event:
    known = {
        "seq": 1,
        "op": Op.ALL_REDUCE,
        "group": (0, 1),
        "numel": 10,
        "dtype": "float32",
        "nbytes": 40,
    }
    return Event(rank=rank, start_s=start_s, end_s=end_s, **(known | fields))


def parse(picture: Picture) -> Element:
    """Return the root; raises where it is not well-formed."""
    return ElementTree.fromstring(render([picture]))


def elements(root: Element, tag: str) -> list[Element]:
    return list(root.iter(f"{SVG_NAMESPACE}{tag}"))


def texts(root: Element) -> list[str]:
    return [element.text or "" for element in elements(root, "text")]


def titles(root: Element) -> list[str]:
    return [element.text or "" for element in elements(root, "title")]


def colours(root: Element) -> set[str]:
    return set(re.findall(r"#[0-9A-Fa-f]{3,8}\b", ElementTree.tostring(root, encoding="unicode")))
