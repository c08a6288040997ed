"""What the tests of grading share: a course directory with a tiny exercise that starts no ranks."""

import json
import os
import shutil
from pathlib import Path

import pytest

from grader.course import ROOT
from grader.course_directory import CourseDirectory

MARK = "SHARDLAB_TEST_COURSE"  # tells a test's own processes from all others
pytest.register_assert_rewrite("exercise_tests", "grading_tests")
DUMMY = Path(__file__).parent / "dummy"


class DummyCourse(CourseDirectory):
    """A course directory whose kernels find the tiny exercise's checks."""

    def environment(self):
        return {
            **super().environment(),
            "PYTHONPATH": f"{DUMMY}{os.pathsep}{ROOT}",
            MARK: str(self.root),
        }

    def answers(self, **sources):
        """Return the right notebook with some answers replaced."""
        notebook = self.source()
        for grade_id, source in sources.items():
            self.cell(notebook, grade_id)["source"] = source
        return notebook

    @staticmethod
    def cell(notebook, grade_id):
        """Return the cell with this grade_id."""
        return next(
            cell
            for cell in notebook["cells"]
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
        )

    def hand_in(self, student, notebook):
        """Submit a notebook given as parsed JSON."""
        return self.submit(student, json.dumps(notebook))

    def scores(self, student):
        return {cell.grade_id: cell.score for cell in self.results(student)}

    def ends(self, student):
        return {cell.grade_id: (cell.outcome, cell.reason) for cell in self.results(student)}


@pytest.fixture(scope="session")
def released_dummy_course(tmp_path_factory):
    """Return a course directory in which the tiny exercise is released, to be copied."""
    return DummyCourse.create(tmp_path_factory.mktemp("released"), DUMMY / "dummy.py")


@pytest.fixture(scope="session")
def new_dummy_course(tmp_path_factory, released_dummy_course):
    """Return a function that makes a course directory with the tiny exercise in it."""

    def create():
        root = tmp_path_factory.mktemp("course")
        shutil.copytree(released_dummy_course.root, root, dirs_exist_ok=True)
        return DummyCourse(root, released_dummy_course.exercise)

    return create
