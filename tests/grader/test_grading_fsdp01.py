"""fsdp01 in nbgrader's own hands: right, blank, mixed and crashed submissions are told apart."""

import json

import psutil
import pytest

from grader.course import find_page
from grader.course_directory import CourseDirectory
from grader.demonstration import grade
from grader.nbgrader_plugin.scoring import Outcome
from grader.samples import read_samples, submission

pytestmark = [pytest.mark.fsdp01, pytest.mark.timeout(400)]

CRASHES_AND_DEADLOCKS = """
import os

os._exit(1)

def sample_ids(num_samples, epoch, seed, rank, world_size):
    return []

def train_step(model, optimizer, tokens, max_norm):
    if dist.get_rank() == 0:
        dist.all_reduce(torch.zeros(1))
    return 0.0, 0.0
"""


class MarkedCourse(CourseDirectory):
    """A course directory whose processes can be told from all others."""

    def environment(self):
        return {**super().environment(), "SHARDLAB_TEST_COURSE": str(self.root)}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return the course after grading four submissions, two at a time, and their feedback."""
    course = MarkedCourse.create(tmp_path_factory.mktemp("course"), find_page("fsdp01").text)
    course.submit("blank", json.dumps(course.released()))
    course.submit("crashed", submission(course.source(), CRASHES_AND_DEADLOCKS))
    course.submit("mixed", submission(course.source(), read_samples("fsdp01")["partly-right"]))
    course.submit("right", submission(course.source(), ""))
    seconds = dict(grade(course, ["right", "mixed", "crashed", "blank"]))
    assert len(seconds) == 4
    course.nbgrader("generate_feedback").check_returncode()
    return course


def ends(course, student):
    return {
        cell.grade_id: (cell.score, cell.outcome, cell.reason) for cell in course.results(student)
    }


def test_reference_solution_gets_100(course):
    assert {cell.outcome for cell in course.results("right")} == {Outcome.PASSED}
    assert sum(cell.score for cell in course.results("right")) == 100


def test_released_notebook_gets_0_each_cell_not_solved_yet(course):
    assert {cell.outcome for cell in course.results("blank")} == {Outcome.NOT_SOLVED}
    assert sum(cell.score for cell in course.results("blank")) == 0


def test_mistakes_lose_their_points_and_are_named_in_the_feedback(course):
    found = ends(course, "mixed")
    assert found["check_shard_model"] == (0, Outcome.FAILED, "ROOT_ONLY_WRAP")
    assert found["check_train_step"] == (0, Outcome.FAILED, "LOCAL_GRAD_NORM")
    for name in ("check_rows_of_rank", "check_build", "check_sample_ids", "check_checkpoint"):
        assert found[name][1] is Outcome.PASSED
    assert "ROOT_ONLY_WRAP" in course.feedback("mixed")


def test_crash_and_deadlock_cost_their_own_points(course):
    found = ends(course, "crashed")
    assert found["check_shard_model"][1] is Outcome.PASSED  # before the kernel's end
    assert found["check_checkpoint"][1] is Outcome.PASSED  # and after it
    assert found["check_train_step"] == (0, Outcome.FAILED, "DEADLOCK")
    assert found["check_sample_ids"][0] == 0
    assert "This cell ended the kernel (exit code 1)." in course.feedback("crashed")


def test_no_kernel_and_no_rank_is_left(course):
    places = [(p.info["environ"] or {}).get("SHARDLAB_TEST_COURSE") for p in processes()]
    assert str(course.root) not in places


def processes():
    return psutil.process_iter(["environ"])
