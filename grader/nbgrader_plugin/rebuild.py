"""Rebuild a submission on the master notebook: only the text of the answers is the student's."""

import itertools
from collections import defaultdict
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, Notebook, SourceCell
from nbgrader.preprocessors import NbGraderPreprocessor

TOP = ""  # no cell is called that
MISSING = "# This answer was missing from the submitted notebook."


class RebuildFromMaster(NbGraderPreprocessor):
    """Replaces a submission by the released notebook with the student's answers in it.

    Order, test cells and every piece of nbgrader metadata come from the gradebook. Cells that the
    student added keep their place behind the cell they followed. So a cell that was deleted,
    copied, edited, moved, tagged or given other points has no effect on the grading.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Return the rebuilt notebook."""
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            master = gradebook.find_notebook(about["notebook"], about["assignment"])
            nb.cells = rebuild(nb.cells, master)
        return nb, resources


def rebuild(submitted: list[NotebookNode], master: Notebook) -> list[NotebookNode]:
    """Return the cells of `master`, each with what the student wrote for it and added behind it."""
    # In the order in which nbgrader stored them, which is the notebook's.
    source_cells = {cell.name: cell for cell in master.source_cells}
    answerable = {cell.name for cell in master.solution_cells}
    answers, added = _sort_out(submitted, source_cells, answerable)
    rebuilt = added[TOP]
    for name, source_cell in source_cells.items():
        rebuilt.append(_master_cell(source_cell, master, answers.get(name, MISSING)))
        rebuilt += added[name]
    for number, cell in enumerate(rebuilt, start=1):
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id") or f"added-{number:02}"
    return rebuilt


def _sort_out(
    submitted: list[NotebookNode], source_cells: dict[str, SourceCell], answerable: set[str]
) -> tuple[dict[str, str], dict[str, list[NotebookNode]]]:
    """Return the answers by grade_id, and the other cells by the grade_id of the cell they follow.

    Of an answer's copies the last one counts, as it does in a kernel; earlier ones stay as added
    cells. Code before the first known cell goes behind it: the course's own set-up runs first.
    """
    answers: dict[str, str] = {}
    added: dict[str, list[NotebookNode]] = defaultdict(list)
    last_place = {name: place for place, cell in enumerate(submitted) if (name := _grade_id(cell))}
    anchor = TOP
    first = next(iter(source_cells), TOP)
    for place, cell in enumerate(submitted):
        name = _grade_id(cell)
        if name in source_cells:
            anchor = name if last_place[name] == place else anchor
            if name not in answerable:
                continue  # the master's own text is used
            if last_place[name] == place:
                answers[name] = cell.source
                continue
        cell.metadata = {}
        is_early = anchor == TOP and cell.cell_type == "code"
        added[first if is_early else anchor].append(cell)
    return answers, added


def _grade_id(cell: NotebookNode) -> str:
    grade_id: str = cell.metadata.get("nbgrader", {}).get("grade_id", "")
    return grade_id


def _master_cell(source_cell: SourceCell, master: Notebook, answer: str) -> NotebookNode:
    """Return the cell as released, with `answer` for its source if it is one that students fill."""
    name = source_cell.name
    points = {
        cell.name: cell.max_score for cell in itertools.chain(master.grade_cells, master.task_cells)
    }
    is_solution = any(cell.name == name for cell in master.solution_cells)
    is_task = any(cell.name == name for cell in master.task_cells)
    mark = {
        "schema_version": 3,
        "grade_id": name,
        "grade": name in points and not is_task,
        "solution": is_solution,
        "task": is_task,
        "locked": source_cell.locked,
        "cell_type": source_cell.cell_type,
        "checksum": source_cell.checksum,
    }
    if name in points:
        mark["points"] = points[name]
    new = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    cell: NotebookNode = new[source_cell.cell_type](
        answer if is_solution else source_cell.source, metadata={"nbgrader": mark}
    )
    return cell
