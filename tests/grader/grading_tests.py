"""What tests of grading whole exercises share: a course directory whose processes can be told."""

import json

import psutil

from grader.course import find_page
from grader.course_directory import CourseDirectory
from grader.demonstration import grade
from grader.nbgrader_plugin.scoring import Outcome
from grader.samples import submission

MARK = "SHARDLAB_TEST_COURSE"


class MarkedCourse(CourseDirectory):
    """A course directory whose processes can be told from all others."""

    def environment(self):
        return {**super().environment(), MARK: str(self.root)}


def graded_course(root, exercise, submissions):
    """Return the course after grading, two at a time, and its feedback.

    `submissions` maps a student to a function of the course that returns the notebook as text.
    """
    course = MarkedCourse.create(root, find_page(exercise).text)
    for student, notebook in submissions.items():
        course.submit(student, notebook(course))
    assert len(list(grade(course, list(submissions)))) == len(submissions)
    course.nbgrader("generate_feedback").check_returncode()
    return course


def grade_mixed(root, exercise, answers):
    """Return the course after grading one submission, the reference solution with `answers`."""
    return graded_course(
        root, exercise, {"mixed": lambda course: submission(course.source(), answers)}
    )


def judge_named(course, mistakes):
    """Judge that each check has lost its points for its mistake; return those that passed."""
    found = {cell.grade_id: cell for cell in course.results("mixed")}
    for name, mistake in mistakes.items():
        assert found[f"check_{name}"].reason == mistake
        assert found[f"check_{name}"].score == 0
        assert f"{name} [{mistake}]" in course.feedback("mixed")
    return {name for name, cell in found.items() if cell.outcome is Outcome.PASSED}


def processes_of(course):
    """Return the ids of the processes that the grading of `course` has left."""
    processes = psutil.process_iter(["environ"])
    return [p.pid for p in processes if (p.info["environ"] or {}).get(MARK) == str(course.root)]


def judge_right_and_blank(root, exercise):
    """Grade the reference solution, which must get 100, and the released notebook: 0, unsolved."""
    notebooks = {
        "right": lambda course: submission(course.source(), ""),
        "blank": lambda course: json.dumps(course.released()),
    }
    course = graded_course(root, exercise, notebooks)
    for student, outcome, points in (
        ("right", Outcome.PASSED, 100),
        ("blank", Outcome.NOT_SOLVED, 0),
    ):
        assert {cell.outcome for cell in course.results(student)} == {outcome}
        assert sum(cell.score for cell in course.results(student)) == points
    assert processes_of(course) == []
