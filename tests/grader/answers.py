"""Answers to an exercise as its checks get them: the text's own solutions, some replaced."""

import ast
import functools
from pathlib import Path
from typing import Any

import jupytext

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def cells(exercise: str) -> list[tuple[str, str, str]]:
    """Return (grade_id, "solution", "check" or "given", source) of the cells nbgrader marks."""
    notebook = jupytext.read(ROOT / "exercises" / "text" / f"{exercise}.py", fmt="py:percent")
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


def arguments(exercise: str, check: str) -> list[str]:
    """Return the names of the answers that a check gets."""
    [source] = [source for _, _, source in cells(exercise) if f".check_{check}(" in source]
    return source.partition("(")[2].rstrip(")\n ").split(", ")


def defined_names(overlay: Path) -> list[str]:
    """Return the names of the functions that an overlay defines."""
    tree = ast.parse(overlay.read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def overlays(kind: str, exercise: str) -> list[Path]:
    """Return the files in tests/grader/`kind`/`exercise`: mutants, or solutions in other styles."""
    return sorted((Path(__file__).parent / kind / exercise).glob("*.py"))
