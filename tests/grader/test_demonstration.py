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
    cells = {row[1]: [word for word in row if word != "│"][1:] for row in rows if "│" in row}
    assert cells["right"] == ["✓", "60", "✓", "40", "100", "12"]
    assert cells["wrong"] == ["✓", "60", "✗", "0", "60", "12"]
    assert cells["lost"] == ["–", "0", "○", "0", "0", "12"]


def test_mistakes_are_named_and_blanks_are_not():
    assert list(reasons(RESULTS)) == [
        "wrong, 2 check_b: failed: LOCAL_GRAD_NORM",
        "lost, 1 check_a: not run: not graded",
    ]
