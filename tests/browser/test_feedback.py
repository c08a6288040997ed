"""The page that a student gets back: whose it is, and no line of a verdict cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.server_extensions import formgrader

from grader.nbgrader_plugin.feedback import template_folders

pytestmark = pytest.mark.browser
STYLES = Path(formgrader.__file__).parent / "static/node_modules/bootstrap/dist/css"
VERDICT = f"next  call fully_shard on {'each block of the model, ' * 12}and then on the model"


def export() -> str:
    output = new_output("stream", name="stdout", text=VERDICT)
    mark = {"grade": True, "grade_id": "check", "points": 5, "score": 0}
    cells = [new_code_cell(f"# {VERDICT}", outputs=[output], metadata={"nbgrader": mark})]
    exporter = HTMLExporter(
        template_name="shardlab",
        template_file="scores.html.j2",
        extra_template_basedirs=template_folders(),
        extra_template_paths=[str(STYLES)],
    )
    known = {"notebook": "fsdp01", "student": "<ada>", "score": 0, "max_score": 5,
             "late_penalty": 0}  # fmt: skip
    page, _ = exporter.from_notebook_node(new_notebook(cells=cells), {"nbgrader": known})
    return page


@pytest.mark.parametrize("media", ["screen", "print"])
def test_no_line_of_feedback_is_cut_off(page, media: str) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    page.route("**/*", lambda route: route.abort())  # mathjax
    page.emulate_media(media=media)
    page.set_content(export(), wait_until="domcontentloaded")
    assert page.title() == "fsdp01 · <ada>"
    assert page.locator("h4").first.inner_text() == "fsdp01 · <ada> (Score: 0.0 / 5.0)"
    lines = page.locator("pre", has_text="next  call fully_shard")
    assert lines.count() == 2
    for line in lines.all():
        assert line.evaluate("pre => pre.scrollWidth - pre.clientWidth") <= 0
        assert line.evaluate("pre => getComputedStyle(pre).whiteSpace") == "pre-wrap"
