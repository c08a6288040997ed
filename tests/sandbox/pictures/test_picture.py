"""A picture: a sentence and a drawing, escaped, static where nothing runs, legible, in theme."""

from __future__ import annotations

import base64
import html
import re
from dataclasses import replace
from xml.etree import ElementTree

import nbformat
import pytest
from drawing import parse, texts
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output

from sandbox.pictures import svg
from sandbox.pictures.picture import Picture, bind, bundle, render, wrap
from sandbox.units import format_bytes, format_time

HOSTILE = """rank 0 read </text><script>alert(1)</script> & "more" 'than' this"""


def draw_hostile(parent, pattern: str) -> None:
    svg.box(parent, 0.1, 0, 0.5, 20, "#999999", title=HOSTILE)
    svg.text(parent, HOSTILE, 0, 20)


PICTURE = Picture(HOSTILE, 40, draw_hostile)


def test_hostile_text_stays_text() -> None:
    root = parse(PICTURE)
    assert HOSTILE in texts(root)
    assert root.attrib["aria-label"] == HOSTILE
    page = bundle([PICTURE], "plain")["text/html"]
    assert page.count("<script>") == 1
    alt = re.search(r'alt="([^"]*)"', page)[1]
    assert html.unescape(alt) == HOSTILE


def images(page: str) -> list[str]:
    encoded = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    return [base64.b64decode(image).decode() for image in encoded]


def test_the_page_says_in_html_what_the_svg_alone_writes_itself() -> None:
    picture = replace(PICTURE, notes=("left out: <b>", "5 kB"))
    shown = bundle([picture, picture], "plain")
    page, alone = (html.unescape(shown[kind]) for kind in ("text/html", "image/svg+xml"))
    assert len(images(page)) == 2
    for image in images(page):
        assert "left out" not in image
        assert ElementTree.fromstring(image).attrib["width"] == "100%"
        assert "viewBox" not in ElementTree.fromstring(image).attrib  # text keeps its size
    for words in (HOSTILE, "left out: <b>", "5 kB"):
        assert len(re.findall(f"<(?:p|strong)[^>]*>{re.escape(bind(words))}<", page)) == 2
        assert alone.count(f">{bind(words)}<") == 2
    assert shown["text/plain"] == "plain"


def test_nbconvert_shows_the_picture_and_not_the_selectors_that_no_kernel_serves() -> None:
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "gone"}, "text/plain": ""}
    outputs = [
        new_output("display_data", data=dict(bundle([PICTURE], "Run(…)"))),
        new_output("display_data", data=widget),
    ]
    notebook = new_notebook(cells=[new_code_cell("run", outputs=outputs)])
    nbformat.validate(notebook)
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "data:image/svg+xml;base64," in page
    assert "Run(…)" not in page
    assert "gone" not in page
    assert "Loading widget" not in page


def test_no_text_is_too_small_or_rotated_and_the_ground_follows_the_theme() -> None:
    drawn = bundle([PICTURE], "plain")["image/svg+xml"]
    assert all(int(size) >= 12 for size in re.findall(r'font-size[=:]"?(\d+)', drawn))
    assert "rotate" not in re.sub(r"<pattern.*?</pattern>", "", drawn)
    for variable in (
        "--jp-ui-font-color0, #000",
        "--jp-layout-color0, #fff",
        "--jp-ui-font-family",
    ):
        assert variable in drawn


def test_two_pictures_do_not_share_a_name_for_their_hatching() -> None:
    drawn = [render([Picture(sentence, 1, draw_hostile)]) for sentence in ("one", "two")]
    names = {re.search(r'<pattern id="([^"]+)"', svg_text)[1] for svg_text in drawn}
    assert len(names) == 2


def test_a_number_stays_with_its_unit_and_a_line_with_its_number() -> None:
    lines = wrap("waits 12 ms at line 5 of rank 2", 8)
    assert lines == ["waits", "12\u00a0ms at", "line\u00a05", "of", "rank\u00a02"]


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [(0, "0 B"), (999, "999 B"), (999.6, "1.00 kB"), (42_804, "42.8 kB"), (1.5e9, "1.50 GB")],
)
def test_bytes_are_decimal_with_three_digits(nbytes: float, words: str) -> None:
    assert format_bytes(nbytes) == words


@pytest.mark.parametrize(
    ("time_s", "words"),
    [(0.0, "0 s"), (3e-7, "0.30 µs"), (12.34e-6, "12.3 µs"), (0.036, "36.0 ms"), (0.9996, "1.00 s"),
     (75.0, "75.0 s")],
)  # fmt: skip
def test_no_time_is_shown_as_zero_seconds(time_s: float, words: str) -> None:
    assert format_time(time_s) == words
