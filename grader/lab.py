"""Open the course in JupyterLab, in the learner's folder.

Run with: python -m grader lab [flags for jupyter lab]
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from grader.course import ROOT
from grader.learn import LEARN, fill
from grader.notebooks import write_notebooks


def prepare() -> Iterator[str]:
    """Build the notebooks whose text is newer, and hand out what is new; yield a line for each."""
    for path in write_notebooks(only_newer=True):
        yield f"built {path.relative_to(ROOT)}"
    yield from fill()


def start(flags: list[str]) -> NoReturn:
    """Become JupyterLab.

    The server's working directory is the course directory: there its nbgrader extensions find
    nbgrader_config.py, so Validate judges as grading does. The files it shows are the learner's.
    """
    scripts = Path(sys.executable).parent  # a terminal in JupyterLab finds `nbgrader` there
    os.environ["PATH"] = f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"
    os.chdir(ROOT / "exercises")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={LEARN}", *flags]
    os.execv(sys.executable, command)
