"""Every lesson runs from top to bottom in a fresh kernel, and fails only where it means to."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from grader.course import pages

LESSONS = [page for page in pages() if not page.is_exercise]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda page: page.name)
def test_a_lesson_runs(lesson, tmp_path) -> None:
    notebook = nbformat.read(lesson.notebook, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=60, resources=resources).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            kinds = [output.output_type for output in cell.outputs]
            means_to_fail = "raises-exception" in cell.metadata.get("tags", ())
            assert ("error" in kinds) == means_to_fail, cell.source
            streams = [o.name for o in cell.outputs if o.output_type == "stream"]
            assert "stderr" not in streams, cell.source
