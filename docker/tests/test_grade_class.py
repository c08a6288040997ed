"""grade_class.py grades every submission of a class, here and on Ray, or says why it could not."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grade_class
import pytest
from class_files import REFERENCE, hand_in, points, rows
from grade_class import Graded
from results import Folder

from grader.course_directory import CellResult
from grader.mistakes import Mistake
from grader.nbgrader_plugin.scoring import Outcome

DOCKER = Path(__file__).parents[1]


def test_grades_have_a_row_for_each_cell_and_for_each_student_not_graded(tmp_path: Path) -> None:
    right = CellResult("check_a", 60, 60, Outcome.PASSED, "")
    wrong = CellResult("check_b", 0, 30, Outcome.FAILED, "LOCAL_GRAD_NORM")
    blank = CellResult("check_c", 0, 10, Outcome.NOT_SOLVED, "build")
    forged = CellResult("check_d", 0, 10, Outcome.FAILED, "=1+1")
    results = [
        Graded("ann", [right, wrong, blank, forged], "<p>page"),
        Graded("@zoe", [], "", "it was lost"),
    ]
    assert grade_class.write(iter(results), Folder(tmp_path / "graded")) == 1
    found = [tuple(row.values()) for row in rows(tmp_path / "graded")]
    meaning = Mistake.LOCAL_GRAD_NORM.meaning
    assert found == [
        ("ann", "check_a", "60", "60", "passed", ""),
        ("ann", "check_b", "0", "30", "failed", f"LOCAL_GRAD_NORM: {meaning}"),
        ("ann", "check_c", "0", "10", "not solved yet", "build"),
        ("ann", "check_d", "0", "10", "failed", "'=1+1"),  # no spreadsheet takes it for a formula
        ("'@zoe", "", "", "", "not graded", "it was lost"),
    ]
    assert [path.name for path in (tmp_path / "graded").glob("*.html")] == ["ann.html"]


def test_what_was_graded_before_a_run_ended_is_kept(tmp_path: Path) -> None:
    def results() -> Iterator[Graded]:
        yield Graded("ann", [CellResult("check_a", 60, 60, Outcome.PASSED, "")], "<p>page")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_class.write(results(), Folder(tmp_path / "graded"))
    assert points(tmp_path / "graded") == {"ann": 60}


def test_a_student_whose_grading_breaks_is_told_and_does_not_end_the_class(monkeypatch) -> None:
    def break_off(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(grade_class.CourseDirectory, "create", break_off)
    (graded,) = grade_class.grade_here("fsdp01", [("ann", "{}")])
    assert (graded.student, graded.cells) == ("ann", [])
    assert graded.problem == "grading failed: OSError: [Errno 28] No space left on device"


def test_of_nbgrader_s_log_the_last_exception_is_told() -> None:
    log = "Traceback:\nsqlite3.OperationalError: disk is full\n[ERROR] see the above traceback\n"
    assert grade_class.last_error(log) == "sqlite3.OperationalError: disk is full"
    assert grade_class.last_error("only this\n\n") == "only this"
    assert grade_class.last_error("") == "it said nothing"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["fsdp99", "{}", "{}/graded"], "no notebook 'fsdp99'; there are: "),
        (["fsdp01", "{}", "{}/graded"], "holds no folder of a student"),
        (["fsdp01", "{}/nowhere", "{}/graded"], "nowhere: No such file or directory"),
        (["fsdp01", "{}/full", "{}/full"], "full exists, and results are not mixed"),
    ],
)
def test_wrong_arguments_get_one_line(tmp_path, monkeypatch, capsys, arguments, expected) -> None:
    if "full" in arguments[1]:
        hand_in(tmp_path / "full", "ann", b"{}")
    given = [each.format(tmp_path) for each in arguments]
    monkeypatch.setattr(sys, "argv", ["grade_class.py", *given])
    with pytest.raises(SystemExit) as ended:
        grade_class.main()
    assert ended.value.code == 2
    assert expected in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("where", [[], ["--ray"]], ids=["here", "ray"])
def test_the_reference_earns_all_points_beside_a_broken_file(tmp_path: Path, where) -> None:
    hand_in(tmp_path / "submitted", "reference", REFERENCE.read_bytes())
    hand_in(tmp_path / "submitted", "broken", b"\xff not a notebook")
    (tmp_path / "submitted" / "nothing").mkdir()
    script = [sys.executable, DOCKER / "grade_class.py", "fsdp01"]
    done = subprocess.run(
        [*script, tmp_path / "submitted", tmp_path / "graded", *where],
        env=os.environ | {"RAY_ADDRESS": "local"},  # never a cluster that happens to run here
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr  # one had nothing to grade
    assert points(tmp_path / "graded") == {"reference": 100, "broken": 0, "nothing": 0}
    assert len(list((tmp_path / "graded").glob("*.html"))) == 2
