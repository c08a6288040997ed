"""The house rules that a machine can check: who imports whom, how long a file is, …"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("sandbox", "grader", "benchmarks")
MODULES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
MAY_IMPORT = {
    "sandbox": {"sandbox"},
    "grader": {"sandbox", "grader"},
    "benchmarks": {"sandbox", "grader", "benchmarks"},
}
OURS = {"sandbox", "grader", "benchmarks", "course", "exercises", "tests"}
MAX_LINES = 300


def imported_packages(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_one_way_says_what_it_is_and_stays_short(path: Path) -> None:
    text = path.read_text()
    package = path.relative_to(ROOT).parts[0]
    assert imported_packages(path) & OURS <= MAY_IMPORT[package]
    assert ast.get_docstring(ast.parse(text)), "a module opens with a docstring"
    assert text.count("\n") <= MAX_LINES


def test_only_backend_knows_cuda() -> None:
    allowed = {"backend.py", "dispatch.py", "zygote.py", "process.py", "fork_guard.py", "gpus.py"}
    allowed |= {"nccl_variables.py"}  # names of NCCL's
    for path in (ROOT / "sandbox").rglob("*.py"):
        if path.name not in allowed:
            assert "cuda" not in path.read_text().lower(), path


def test_every_entry_of_the_file_map_exists() -> None:
    table = (ROOT / "README.md").read_text().partition("## File map")[2].partition("\n## ")[0]
    paths = re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)
    assert len(paths) > 5
    assert [p for p in paths if not (ROOT / p).exists() and p != "learn/"] == []


def test_the_first_line_of_every_module_stands_in_the_file_map() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## File by file")[2]
    for path in MODULES:
        if path.is_relative_to(ROOT / "benchmarks"):
            continue
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        assert docstring is not None
        assert f"| `{path.name}` | {docstring.splitlines()[0]} |" in text
