"""Answers to an exercise as its checks get them: the text's own solutions, some replaced."""

import ast
from pathlib import Path

from grader.course import ROOT
from grader.reference import cells, check_names, run_check, solution

__all__ = [
    "ROOT",
    "arguments",
    "cells",
    "check_names",
    "defined_names",
    "overlays",
    "run_check",
    "solution",
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
