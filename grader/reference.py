"""The reference answers of an exercise, and the cells that check them: from its text."""

import functools
from pathlib import Path
from typing import Any

import jupytext

from grader.course import find_page


@functools.cache
def cells(exercise: str) -> list[tuple[str, str, str]]:
    """Return (grade_id, "solution", "check" or "given", source) of the cells nbgrader marks."""
    notebook = jupytext.read(find_page(exercise).text, fmt="py:percent")
    marked = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    marks = [cell.metadata["nbgrader"] for cell in marked]
    return [
        (mark["grade_id"], _kind(mark), cell.source)
        for cell, mark in zip(marked, marks, strict=True)
    ]


def _kind(mark: dict[str, Any]) -> str:
    if mark["grade"]:
        return "check"
    return "solution" if mark["solution"] else "given"


def solution(exercise: str, overlay: Path | None = None) -> dict[str, Any]:
    """Return the namespace of the solved notebook; the definitions in `overlay` replace its own."""
    namespace: dict[str, Any] = {"__name__": f"{exercise}_answers"}
    for grade_id, kind, source in cells(exercise):
        if kind != "check":
            lines = [line for line in source.splitlines() if not line.startswith("%")]
            exec(compile("\n".join(lines), grade_id, "exec"), namespace)
    if overlay is not None:
        exec(compile(overlay.read_text(), str(overlay), "exec"), namespace)
    return namespace


def run_check(exercise: str, name: str, namespace: dict[str, Any]) -> None:
    """Execute the cell that grades `name`, as it stands in the notebook."""
    [source] = [source for _, _, source in cells(exercise) if f".check_{name}(" in source]
    exec(source, namespace)


def check_names(exercise: str) -> list[str]:
    """Return the names of all checks, in the order of the notebook."""
    return [
        source.partition("check_")[2].partition("(")[0]
        for _, kind, source in cells(exercise)
        if kind == "check"
    ]
