"""An nbgrader course directory for one exercise: take submissions, grade them, read results."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook

from grader.course import ROOT
from grader.mistakes import Mistake
from grader.nbgrader_plugin import scoring
from grader.nbgrader_plugin.scoring import Outcome
from grader.notebooks import build

CONFIG = ROOT / "exercises" / "nbgrader_config.py"
NBGRADER = Path(sys.executable).with_name("nbgrader")


@dataclass(frozen=True)
class CellResult:
    """What one graded cell earned; `score` is None if it was not graded, `reason` may be empty."""

    grade_id: str
    score: float | None
    max_score: float
    outcome: Outcome
    reason: str

    def explain(self) -> str:
        """Return the reason, with what it means where it is a mistake's code."""
        mistake = Mistake.__members__.get(self.reason)
        return f"{self.reason}: {mistake.meaning}" if mistake else self.reason


@dataclass(frozen=True)
class CourseDirectory:
    """The directory `root` with our nbgrader_config.py and the one exercise."""

    root: Path
    exercise: str

    @classmethod
    def create(cls, root: Path, text: Path) -> "CourseDirectory":
        """Make the directory, build the exercise from its text, and release it."""
        directory = cls(root, text.stem)
        built = build(text.read_text("utf-8"), text.stem, is_exercise=True)
        directory._write("source", ".", built)
        shutil.copy(CONFIG, root)
        directory.nbgrader("generate_assignment").check_returncode()
        return directory

    def environment(self) -> dict[str, str]:
        """Return the environment of nbgrader's processes, and so of the kernels."""
        return dict(os.environ)

    def nbgrader(self, command: str, *options: str) -> "subprocess.CompletedProcess[str]":
        """Run an nbgrader command on the exercise; its output goes to a file, which is then read.

        (A process that held the other end of a pipe could keep us waiting.)
        """
        log = self.root / f"{'-'.join([command, *options]).replace(os.sep, '-')}.log"
        with log.open("w+", encoding="utf-8") as output:
            done = subprocess.run(
                [NBGRADER, command, self.exercise, *options],
                cwd=self.root,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        text = log.read_text("utf-8", "replace")
        return subprocess.CompletedProcess(done.args, done.returncode, text, "")

    def submit(self, student: str, notebook: str) -> Path:
        """Hand in a notebook's text; return the student's folder."""
        return self._write("submitted", student, notebook)

    def source(self) -> dict[str, Any]:
        """Return the exercise with its solutions, as read from JSON."""
        return self._read("source", ".")

    def released(self) -> dict[str, Any]:
        """Return the exercise as handed out, as read from JSON."""
        return self._read("release", ".")

    def results(self, student: str) -> list[CellResult]:
        """Return what each graded cell earned, in the order of the notebook."""
        ends = dict(self._ends(student, graded=True))
        not_graded = (Outcome.NOT_RUN, "nbgrader did not grade this submission")
        with Gradebook(f"sqlite:///{self.root}/gradebook.db") as gradebook:
            notebook = gradebook.find_submission_notebook(self.exercise, self.exercise, student)
            results = [
                CellResult(g.name, g.auto_score, g.max_score, *ends.get(g.name, not_graded))
                for g in notebook.grades
            ]
        order = list(ends)
        return sorted(results, key=lambda found: order.index(found.grade_id) if order else 0)

    def stopped_answers(self, student: str) -> dict[str, str]:
        """Return why answers were stopped (they ended the kernel, took too long), by cell id."""
        ends = self._ends(student, graded=False)
        return {cell_id: reason for cell_id, (end, reason) in ends if end is Outcome.STOPPED}

    def feedback(self, student: str) -> str:
        """Return the student's feedback page."""
        return self._path("feedback", student).with_suffix(".html").read_text("utf-8")

    def _ends(self, student: str, *, graded: bool) -> Iterator[tuple[str, tuple[Outcome, str]]]:
        path = self._path("autograded", student)
        for cell in nbformat.read(path, as_version=4).cells if path.exists() else []:
            if scoring.is_autograded(cell) == graded:
                yield cell.id, scoring.outcome_of(cell)

    def _path(self, step: str, student: str) -> Path:
        return self.root / step / student / self.exercise / f"{self.exercise}.ipynb"

    def _read(self, step: str, student: str) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self._path(step, student).read_text("utf-8"))
        return read

    def _write(self, step: str, student: str, text: str) -> Path:
        path = self._path(step, student)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path.parent
