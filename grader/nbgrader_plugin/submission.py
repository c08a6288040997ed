"""Read what a student handed in, trusting nothing but the text of its cells."""

import glob
import json
from pathlib import Path
from typing import Any, cast

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry

MAX_BYTES = 50_000_000
UNREADABLE = "unreadable"  # key in metadata["shardlab"]: why the file could not be read


class SubmissionExporter(NotebookExporter):
    """Opens notebooks for `nbgrader autograde`; a broken one becomes an empty one with a reason."""

    def __init__(self, **kwargs: Any) -> None:
        """Have the converter, which is the parent, call `_begin_submission`."""
        super().__init__(**kwargs)
        self._converter = cast(Any, self.parent)
        self._converter.pre_convert_hook = self._begin_submission
        self._ignored_always = list(self._converter.coursedir.ignore)

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> Any:
        """Return the converted notebook, read with suspicion when it comes from a student."""
        if self._converter._sanitizing:  # else it is what we wrote ourselves
            return self.from_notebook_node(read_submission(Path(filename)), resources, **kwargs)
        return super().from_filename(filename, resources=resources, **kwargs)

    def _begin_submission(self, notebooks: list[str], **_: Any) -> None:
        """Make ready for one submission; nbgrader has not yet copied the student's files."""
        converter = self._converter
        irregular = _irregular_files(Path(notebooks[0]).parent)
        converter.coursedir.ignore = [*self._ignored_always, *map(glob.escape, irregular)]
        about = converter.init_single_notebook_resources(notebooks[0])["nbgrader"]
        forget_scores(about["db_url"], about["assignment"], about["student"])


def forget_scores(db_url: str, assignment: str, student: str) -> None:
    """Clear earlier automatic scores, so that grading which fails cannot leave them standing."""
    with Gradebook(db_url) as gradebook:
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            return
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                grade.auto_score = None
                grade.needs_manual_grade = True
        gradebook.db.commit()


def _irregular_files(folder: Path) -> list[str]:
    """Return the names of links, pipes and sockets: they must not be copied or followed."""
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_symlink() or not (path.is_file() or path.is_dir())
    ]


def read_submission(path: Path) -> NotebookNode:
    """Return the submitted notebook with nothing left but cell types, sources and grade_ids.

    If it cannot be read, the notebook has no cells and `metadata.shardlab.unreadable` says why.
    """
    try:
        cells = [_bare_cell(cell) for cell in _submitted_cells(path)]
    except ValueError as error:
        reason = {"shardlab": {UNREADABLE: str(error)}}
        return nbformat.v4.new_notebook(metadata=reason)
    return nbformat.v4.new_notebook(cells=cells)


def _submitted_cells(path: Path) -> list[Any]:
    if path.is_symlink() or not path.is_file():
        raise ValueError("it is not a file")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES // 1_000_000} MB; clear its outputs")
    try:
        notebook = json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        raise ValueError("it is not a notebook of format 4; save it again in JupyterLab")
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        raise ValueError("it has no list of cells")
    return cells


def _bare_cell(cell: Any) -> NotebookNode:
    """Return a new cell that has the type, the source and the grade_id of a submitted one."""
    fields = cell if isinstance(cell, dict) else {}
    new = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
    }.get(str(fields.get("cell_type")), nbformat.v4.new_raw_cell)
    bare: NotebookNode = new(_text(fields.get("source")))
    grade_id = _nested(fields, "metadata", "nbgrader", "grade_id")
    if isinstance(grade_id, str):
        bare.metadata["nbgrader"] = {"grade_id": grade_id}
    return bare


def _text(source: Any) -> str:
    """Return a cell's source, which a notebook file keeps as a string or as a list of lines."""
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    return text.encode("utf-8", "replace").decode("utf-8")  # JSON may hold half a surrogate pair


def _nested(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
