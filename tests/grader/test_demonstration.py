"""`make grade` shows who earned what, and why not."""

import io

from rich.console import Console

from grader.course_directory import CellResult
from grader.demonstration import reasons, score_table
from grader.nbgrader_plugin.scoring import Outcome

RESULTS = {
    "right": [
        CellResult("check_a", 60, 60, Outcome.PASSED, ""),
        CellResult("check_b", 40, 40, Outcome.PASSED, ""),
    ],
    "wrong": [
        CellResult("check_a", 60, 60, Outcome.PASSED, ""),
        CellResult("check_b", 0, 40, Outcome.FAILED, "LOCAL_GRAD_NORM"),
    ],
    "lost": [
        CellResult("check_a", None, 60, Outcome.NOT_RUN, "not graded"),
        CellResult("check_b", 0, 40, Outcome.NOT_SOLVED, "b"),
    ],
}


def test_table_has_points_per_cell_and_total():
    console = Console(file=io.StringIO(), width=80)
    console.print(score_table(RESULTS, dict.fromkeys(RESULTS, 12.3)))
    rows = [line.split() for line in console.file.getvalue().splitlines()]
    assert ["right", "60", "40", "100", "12"] in rows
    assert ["wrong", "60", "✗", "60", "12"] in rows
    assert ["lost", "–", "○", "0", "12"] in rows


def test_table_of_eleven_cells_fits_a_terminal():
    cells = [CellResult(f"check_{i}", 16, 16, Outcome.PASSED, "") for i in range(11)]
    console = Console(file=io.StringIO(), width=80)
    console.print(score_table({"another-style": cells}, {"another-style": 100}))
    assert "another-style" in console.file.getvalue()


def test_mistakes_and_stopped_answers_are_named_and_blanks_are_not():
    wrong, *lost = reasons(RESULTS, {"lost": {"a": "This cell ended the kernel."}})
    assert wrong.startswith("wrong: 2 check_b: LOCAL_GRAD_NORM: The gradient norm is")
    assert lost == [
        "lost: a: This cell ended the kernel.",
        "lost: 1 check_a: not graded",
    ]
