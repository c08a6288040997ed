"""Build the notebooks from their texts: fixed cell ids, no outputs, the same bytes every time.

Run with: python -m grader notebooks [--check]
"""

from collections import Counter
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from grader.course import ROOT, Page, pages

TOTAL_POINTS = 100
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def build(text: str, name: str, *, is_exercise: bool) -> str:
    """Return the notebook, as JSON, that percent-format `text` describes.

    Raises ValueError if the text is not fit to be handed out: see `check_exercise`, `check_lesson`.
    """
    parsed = jupytext.reads(text, fmt="py:percent")
    cells = [_clean_cell(cell, f"{name}-{i:02}") for i, cell in enumerate(parsed.cells, start=1)]
    (check_exercise if is_exercise else check_lesson)(cells, name)
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC})
    nbformat.validate(notebook)
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def _clean_cell(cell: NotebookNode, default_id: str) -> NotebookNode:
    """Return a copy of `cell` with a fixed id and none of jupytext's own metadata."""
    metadata = {key: value for key, value in cell.metadata.items() if key in ("nbgrader", "tags")}
    cell_id = metadata.get("nbgrader", {}).get("grade_id") or default_id
    new = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }[cell.cell_type]
    built: NotebookNode = new(cell.source, id=cell_id, metadata=metadata)
    return built


def check_lesson(cells: list[NotebookNode], name: str) -> None:
    """Raise ValueError if a lesson has a graded cell."""
    if any("nbgrader" in cell.metadata for cell in cells):
        raise ValueError(f"{name}: nbgrader metadata in a lesson; only exercises are graded")


def check_exercise(cells: list[NotebookNode], name: str) -> None:
    """Raise ValueError unless nbgrader can release and grade this exercise."""
    marked = [cell for cell in cells if "nbgrader" in cell.metadata]
    if not marked:
        raise ValueError(f"{name}: no cell carries nbgrader metadata")
    for cell in marked:
        _check_metadata(cell, name)
    repeated = [i for i, n in Counter(_mark(cell)["grade_id"] for cell in marked).items() if n > 1]
    if repeated:
        raise ValueError(f"{name}: grade_id used more than once: {', '.join(repeated)}")
    points = [_mark(cell)["points"] for cell in marked if _counts(_mark(cell))]
    if sum(points) != TOTAL_POINTS:
        sums = " + ".join(str(n) for n in points)
        raise ValueError(f"{name}: points {sums} = {sum(points)}, expected {TOTAL_POINTS}")
    first_code = next(cell for cell in cells if cell.cell_type == "code")
    if not first_code.metadata.get("nbgrader", {}).get("locked"):
        # Grading restores locked cells only; without its imports no other cell can run.
        raise ValueError(f"{name}: the first code cell (imports) must be locked by nbgrader")


def _check_metadata(cell: NotebookNode, name: str) -> None:
    # Imported here: it loads nbgrader whole, and lessons do not need it.
    from nbgrader.nbgraderformat import MetadataValidator, ValidationError

    try:
        MetadataValidator().validate_cell(cell)
    except ValidationError as error:
        raise ValueError(f"{name}: cell {_mark(cell).get('grade_id')!r}: {error}") from None


def _mark(cell: NotebookNode) -> NotebookNode:
    mark: NotebookNode = cell.metadata["nbgrader"]
    return mark


def _counts(mark: NotebookNode) -> bool:
    return bool(mark["grade"] and "bonus" not in mark["grade_id"])


def write_notebooks(root: Path = ROOT) -> list[Path]:
    """Build every page; return the notebooks that changed."""
    changed = []
    for page in pages(root):
        built = build_page(page)
        if _current(page) != built:
            page.notebook.parent.mkdir(parents=True, exist_ok=True)
            page.notebook.write_text(built, encoding="utf-8")
            changed.append(page.notebook)
        page.notebook.touch()
    return changed


def stale_notebooks(root: Path = ROOT) -> list[Page]:
    """Return the pages whose notebook is not what their text says."""
    return [page for page in pages(root) if _current(page) != build_page(page)]


def build_page(page: Page) -> str:
    """Return the notebook that the text of `page` describes."""
    return build(page.text.read_text("utf-8"), page.name, is_exercise=page.is_exercise)


def _current(page: Page) -> str | None:
    return page.notebook.read_text("utf-8") if page.notebook.exists() else None
