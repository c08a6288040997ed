"""The released form of an exercise: solutions cleared by nbgrader's own preprocessors, no gradebook."""

from pathlib import Path

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
from traitlets.config import PyFileConfigLoader

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
    node, resources = nbformat.read(notebook, as_version=4), {}
    for step in STEPS:
        node, resources = step(config=config).preprocess(node, resources)
    return nbformat.writes(node).rstrip("\n") + "\n"
