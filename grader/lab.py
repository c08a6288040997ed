"""Open the course in JupyterLab, in the learner's folder.

Run with: python -m grader lab [flags for jupyter lab]
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from grader.course import ROOT, pages
from grader.learn import LEARN, fill

# nbgrader's for instructors: they would look for a course below the learner's folder. Validate
# stays. Here, not in exercises/, for an instructor who starts JupyterLab there has them all.
NOT_FOR_LEARNERS = ("formgrader", "assignment_list", "course_list")


def prepare() -> Iterator[str]:
    """Build the notebooks if a text is newer, and hand out what is new; yield a line for each."""
    if any(page.is_outdated for page in pages()):
        # Imported here: it takes two seconds, and a learner's texts never change.
        from grader.notebooks import write_notebooks

        for path in write_notebooks():
            yield f"built {path.relative_to(ROOT)}"
    yield from fill()


def start(flags: list[str], folder: Path = LEARN) -> NoReturn:
    """Become JupyterLab.

    The server's working directory is the course directory: there Validate finds
    nbgrader_config.py, so it judges as grading does. The files it shows are the learner's.
    """
    scripts = Path(sys.executable).parent  # a terminal in JupyterLab finds `nbgrader` there
    os.environ["PATH"] = f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"
    # Its labconfig/ hides what is for instructors; it comes first, the user's own settings follow.
    paths = [str(ROOT / "exercises"), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))
    os.chdir(ROOT / "exercises")
    options = [f"--ServerApp.root_dir={folder}", "--LabApp.custom_css=True"]
    # No trait of its own says where custom.css lies, other than in the user's configuration.
    settings = {"static_custom_path": [str(ROOT / "exercises/labconfig/custom")]}
    options.append(f"--ServerApp.tornado_settings={settings}")
    for name in NOT_FOR_LEARNERS:
        options.append(f"--ServerApp.jpserver_extensions=nbgrader.server_extensions.{name}=False")
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *options, *flags])
