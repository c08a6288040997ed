"""grade_class.py grades every submission of a class, here and on Ray, or says why it could not."""

import os
import subprocess
import sys
from pathlib import Path

import grade_class
import pytest
from class_files import REFERENCE, hand_in, points, rows
from grade_class import Graded

from grader.course_directory import CellResult
from grader.nbgrader_plugin.scoring import Outcome

DOCKER = Path(__file__).parents[1]


def test_submissions_are_found_by_student_whatever_bytes_they_hold(tmp_path: Path) -> None:
    hand_in(tmp_path, "zoe", b"{}")
    hand_in(tmp_path, "ann", b"\xff{}")
    (tmp_path / "left" / "fsdp02").mkdir(parents=True)
    assert grade_class.submissions("fsdp01", tmp_path) == [("ann", "\ufffd{}"), ("zoe", "{}")]


def test_grades_have_a_row_for_each_cell_and_for_each_student_not_graded(tmp_path: Path) -> None:
    right = CellResult("check_a", 60, 60, Outcome.PASSED, "")
    wrong = CellResult("check_b", 0, 40, Outcome.FAILED, "LOCAL_GRAD_NORM")
    results = [Graded("ann", [right, wrong], "<p>page"), Graded("zoe", [], "", "it was lost")]
    assert grade_class.write(iter(results), tmp_path / "graded") == 1
    found = [tuple(row.values()) for row in rows(tmp_path / "graded")]
    assert found == [
        ("ann", "check_a", "60", "60", ""),
        ("ann", "check_b", "0", "40", "LOCAL_GRAD_NORM"),
        ("zoe", "", "", "", "it was lost"),
    ]
    assert [path.name for path in (tmp_path / "graded").glob("*.html")] == ["ann.html"]


def test_a_folder_without_submissions_is_refused(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["grade_class.py", "fsdp01", str(tmp_path), "graded"])
    with pytest.raises(SystemExit):
        grade_class.main()
    assert f"{tmp_path} holds no STUDENT/fsdp01/fsdp01.ipynb." in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("where", [[], ["--ray"]], ids=["here", "ray"])
def test_the_reference_earns_all_points_beside_a_broken_file(tmp_path: Path, where) -> None:
    hand_in(tmp_path / "submitted", "reference", REFERENCE.read_bytes())
    hand_in(tmp_path / "submitted", "broken", b"\xff not a notebook")
    script = [sys.executable, DOCKER / "grade_class.py", "fsdp01"]
    done = subprocess.run(
        [*script, tmp_path / "submitted", tmp_path / "graded", *where],
        env=os.environ | {"RAY_ADDRESS": "local"},  # never a cluster that happens to run here
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert points(tmp_path / "graded") == {"reference": 100, "broken": 0}
    assert len(list((tmp_path / "graded").glob("*.html"))) == 2
