"""An exercise as learners get it: cleared by nbgrader's own preprocessors, without a gradebook."""

from pathlib import Path
from typing import Any

import nbformat
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)
from traitlets.config.loader import PyFileConfigLoader

# The steps of `nbgrader generate_assignment` that shape the notebook; what it does besides is to
# run AUTOTEST cells, which we do not use, and to write the gradebook.
STEPS = (
    LockCells,
    ClearSolutions,
    ClearOutput,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
)


def release(notebook: Path, config_file: Path) -> str:
    """Return `notebook` as learners get it; `config_file` is the course's nbgrader_config.py."""
    config = PyFileConfigLoader(config_file.name, path=str(config_file.parent)).load_config()
    node = nbformat.read(notebook, as_version=4)
    resources: dict[str, Any] = {}
    for step in STEPS:
        node, resources = step(config=config).preprocess(node, resources)
    return nbformat.writes(node).rstrip("\n") + "\n"
