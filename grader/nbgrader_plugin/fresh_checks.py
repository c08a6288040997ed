"""Import the checks anew before a graded cell, so that no change made to them has an effect."""

import ast
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from grader.nbgrader_plugin.scoring import is_autograded

Import = ast.Import | ast.ImportFrom
MAGICS = re.compile(r"^[%!].*$", re.MULTILINE)
# %%ranks keeps its worlds in sandbox.magic, which no check uses; it goes on with the old modules.
KEPT = "sandbox.magic"
CODE = """
import sys
_old_warm = [sys.modules.get("sandbox.ranks.warm")]  # in a list: rebind leaves it alone
for _name in [name for name in sys.modules if name.partition(".")[0] in {packages}]:
    if _name != {kept!r}:
        del sys.modules[_name]
{imports}
from grader.nbgrader_plugin import fresh_modules as _fresh
_fresh.rebind(sys.modules["__main__"].__dict__)
_fresh.keep_warm(*_old_warm)
"""


def fresh_import(cells: list[NotebookNode]) -> str:
    """Return code that imports again, from their files, the modules that graded cells call.

    Only imports in the notebook's own locked cells count; they are the course's, not the student's.
    The sandbox is imported again too, for it runs the answers; the warm process is kept.
    """
    graded = "\n".join(cell.source for cell in cells if is_autograded(cell))
    mentioned = set(re.findall(r"\w+", graded))
    imports = [
        node
        for cell in cells
        if _is_setup(cell)
        for node in _imports(cell.source)
        if mentioned & {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    ]
    packages = sorted({"grader", "sandbox", *map(_package, imports)})
    again = "\n".join(map(ast.unparse, imports))
    return CODE.format(packages=packages, kept=KEPT, imports=again)


def _is_setup(cell: NotebookNode) -> bool:
    is_locked = cell.metadata.get("nbgrader", {}).get("locked", False)
    return bool(cell.cell_type == "code" and is_locked and not is_autograded(cell))


def _imports(source: str) -> Iterator[Import]:
    try:
        statements = ast.parse(MAGICS.sub("", source)).body
    except SyntaxError:  # Validate runs what a learner may have edited
        return
    yield from (node for node in statements if isinstance(node, Import))


def _package(node: Import) -> str:
    path = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
    return (path or "").partition(".")[0]
