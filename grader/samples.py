"""Sample submissions: an exercise with some answers replaced by the functions of a small module."""

import ast
import json
from collections.abc import Collection
from typing import Any

from grader.course import ROOT

SAMPLES = ROOT / "exercises" / "samples"


def exercises_with_samples() -> list[str]:
    """Return the names of the exercises that have samples, in order."""
    return sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


def read_samples(exercise: str) -> dict[str, str]:
    """Return the text of each sample of `exercise`, by the name of its student."""
    paths = sorted((SAMPLES / exercise).glob("*.py"))
    return {path.stem.replace("_", "-"): path.read_text("utf-8") for path in paths}


def submission(notebook: dict[str, Any], module: str) -> str:
    """Return `notebook`, as JSON text, with the functions of `module` in place of its own."""
    cells = [cell for cell in notebook["cells"] if _is_answer(cell)]
    asked = {node.name for cell in cells for node in _functions("".join(cell["source"]))}
    answers = read_answers(module, asked)
    for cell in cells:
        cell["source"] = _replace("".join(cell["source"]), answers)
    return json.dumps(notebook)


def read_answers(module: str, asked: Collection[str]) -> dict[str, str]:
    """Return the source of each function of `module` that is asked for, by name.

    What stands before a function, imports and helpers, goes with it; a docstring does not.
    """
    answers: dict[str, str] = {}
    before: list[str] = []
    for node in ast.parse(module).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        before.append("\n".join(module.splitlines()[_lines(node)]))
        if isinstance(node, ast.FunctionDef) and node.name in asked:
            answers[node.name] = "\n\n".join(before)
            before = []
    return answers


def _replace(source: str, answers: dict[str, str]) -> str:
    lines = source.splitlines()
    for node in reversed(_functions(source)):
        if node.name in answers:
            lines[_lines(node)] = answers[node.name].splitlines()
    return "\n".join(lines)


def _lines(node: ast.stmt) -> slice:
    """Return where a statement stands among the lines of its source, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return slice(min(part.lineno for part in [*decorators, node]) - 1, node.end_lineno)


def _functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def _is_answer(cell: dict[str, Any]) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get("solution"))
