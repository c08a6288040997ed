"""A graded cell's outputs, once settled, are worth its points or nothing, whatever they were."""

import nbformat
import pytest
from nbgrader.utils import determine_grade

from grader.nbgrader_plugin.scoring import Outcome, learners_frames, outcome_of, settle

PASSED = ["double"]


def graded_cell(*outputs):
    mark = {"grade": True, "solution": False, "locked": True, "grade_id": "c", "points": 4}
    cell = nbformat.v4.new_code_cell("checks.check_double(double)", metadata={"nbgrader": mark})
    cell.outputs = [nbformat.v4.new_output(**output) for output in outputs]
    return cell


def result(text):
    return {"output_type": "execute_result", "data": {"text/plain": text}}


def stream(name):
    return {"output_type": "stream", "name": name, "text": "hello"}


def error(name, text):
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": ["a", "b", "c"]}


@pytest.mark.parametrize(
    "output",
    [
        *map(result, ["0", "4", "5", "nan", "-1", "True", "np.float64(0.0)", "tensor(0.)", "[0]"]),
        {"output_type": "execute_result", "data": {"text/html": "<b>4</b>"}},
        stream("stdout"),
        stream("stderr"),
    ],
)
def test_only_a_passed_check_earns_points(output):
    cell = graded_cell(output)
    settle(cell, PASSED)
    assert determine_grade(cell) == (4, 4)
    cell = graded_cell(output)
    settle(cell, [])
    assert determine_grade(cell) == (0, 4)
    assert outcome_of(cell)[0] is Outcome.NO_VERDICT


@pytest.mark.parametrize("records", [["negate"], ["double", "negate"], [".*"], [""], ["ouble"]])
def test_pass_of_another_check_earns_nothing(records):
    cell = graded_cell()
    settle(cell, records)
    assert determine_grade(cell) == (0, 4)


def test_exception_after_a_passed_check_earns_nothing():
    cell = graded_cell(error("KeyboardInterrupt", ""))
    settle(cell, PASSED)
    assert determine_grade(cell) == (0, 4)


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        (error("CheckFailed", "double: WRONG_RESULT"), (Outcome.FAILED, "WRONG_RESULT")),
        (error("NotSolved", "double"), (Outcome.NOT_SOLVED, "double")),
        (error("ValueError", "no"), (Outcome.ERROR, "ValueError: no")),
    ],
)
def test_outcome_names_the_mistake_or_the_exception(output, outcome):
    cell = graded_cell(output)
    settle(cell, [])
    assert outcome_of(cell) == outcome


def test_traceback_keeps_frames_of_answers_only():
    frames = [
        "Cell In[9], line 1\n hidden",
        "File ~/check.py:3",
        "\x1b[0;32mCell In[4]\x1b[0m, line 2\n x",
    ]
    traceback = ["-----", "ValueError  Traceback", *frames, "ValueError: no"]
    assert learners_frames(traceback) == [frames[2], "ValueError: no"]
