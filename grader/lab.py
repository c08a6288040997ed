"""Open the course in JupyterLab, in the learner's folder.

Run with: python -m grader lab [flags for jupyter lab]
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

from grader.course import ROOT
from grader.learn import LEARN, fill
from grader.notebooks import write_notebooks


def open_lab(flags: list[str]) -> NoReturn:
    """Build what is newer, hand out what is new, and become JupyterLab.

    The server's working directory is the course directory: there its nbgrader extensions find
    nbgrader_config.py, so Validate judges as grading does. The files it shows are the learner's.
    """
    write_notebooks(only_newer=True)
    for line in fill():
        print(line, flush=True)
    scripts = Path(sys.executable).parent
    os.environ["PATH"] = f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"
    os.chdir(ROOT / "exercises")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={LEARN}", *flags]
    os.execv(sys.executable, command)
