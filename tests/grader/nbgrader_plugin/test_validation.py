"""Validate, in JupyterLab and on the command line, runs a notebook as grading does."""

import json
import subprocess
import sys

from grader.course import ROOT
from grader.course_directory import NBGRADER


def test_validate_shows_verdicts_and_survives_the_kernel(new_dummy_course):
    course = new_dummy_course()
    notebook = course.answers(negate="import os\nos._exit(0)", add="def add(x, y):\n    return 0")
    path = course.root / "mine.ipynb"
    path.write_text(json.dumps(notebook))
    done = subprocess.run(
        [NBGRADER, "validate", path.name],
        cwd=course.root,
        env=course.environment(),
        capture_output=True,
        text=True,
    )
    assert "VALIDATION FAILED ON 2 CELL(S)!" in done.stdout
    assert "✗ failed: add [WRONG_RESULT]" in done.stdout
    assert path.read_text() == json.dumps(notebook)


def test_jupyterlab_validates_with_our_class():
    code = """
from nbgrader.server_extensions.validate_assignment import handlers
class Lab: pass
config = handlers.ValidateAssignmentHandler.load_config(Lab())
validator = handlers.Validator(config=config)
executor = validator.preprocessors[-1](parent=validator)
print(type(executor).__name__, executor.timeout)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "exercises",
        capture_output=True,
        text=True,
    )
    assert done.stdout == "RobustExecute 60\n", done.stderr
