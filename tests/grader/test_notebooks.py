"""Notebooks are built from their texts: the same bytes every time, and fit for nbgrader."""

import json
import subprocess
import sys

import pytest

from grader.course import ROOT, find_page, pages
from grader.notebooks import build, stale_notebooks, write_notebooks

HEADER = (
    '# %% nbgrader={{"grade": {grade}, "grade_id": "{name}", "locked": {locked}, {points}'
    '"schema_version": 3, "solution": {solution}, "task": false}}\n'
)


def locked(name="setup"):
    return HEADER.format(name=name, grade="false", locked="true", points="", solution="false")


def graded(name, points):
    fields = {"grade": "true", "locked": "true", "solution": "false"}
    return HEADER.format(name=name, points=f'"points": {points}, ', **fields)


LESSON = "# %% [markdown]\n# # Title\n\n# %%\n# %load_ext sandbox\nx = 1\n"
EXERCISE = f"{locked()}import this\n\n{graded('check_a', 60)}a()\n\n{graded('check_b', 40)}b()\n"


def test_building_twice_gives_the_same_bytes():
    assert build(LESSON, "07_x", is_exercise=False) == build(LESSON, "07_x", is_exercise=False)


def test_built_cells_have_fixed_ids_and_no_outputs():
    notebook = json.loads(build(EXERCISE + "\n# %%\nprint(1)\n", "e", is_exercise=True))
    assert [cell["id"] for cell in notebook["cells"]] == ["setup", "check_a", "check_b", "e-04"]
    assert all(cell["outputs"] == [] for cell in notebook["cells"])
    assert all(cell["execution_count"] is None for cell in notebook["cells"])


def test_magics_are_code():
    notebook = json.loads(build(LESSON, "07_x", is_exercise=False))
    assert "".join(notebook["cells"][1]["source"]) == "%load_ext sandbox\nx = 1"


@pytest.mark.parametrize(
    ("text", "reason"),
    {
        EXERCISE.replace("check_b", "check_a"): "grade_id used more than once: check_a",
        EXERCISE.replace("60", "50"): "points 50 + 40 = 90, expected 100",
        EXERCISE.replace('"points": 60, ', ""): "cell 'check_a'",
        EXERCISE.replace(locked(), "# %%\n"): "the first code cell (imports) must be locked",
        LESSON: "no cell carries nbgrader metadata",
    }.items(),
)
def test_unfit_exercise_is_refused(text, reason):
    with pytest.raises(ValueError, match=r"^e: ") as refused:
        build(text, "e", is_exercise=True)
    assert reason in str(refused.value)


def test_bonus_is_beyond_the_100_points():
    build(f"{EXERCISE}\n{graded('check_bonus', 10)}c()\n", "e", is_exercise=True)


def test_lesson_with_graded_cell_is_refused():
    with pytest.raises(ValueError, match="only exercises are graded"):
        build(EXERCISE, "07_x", is_exercise=False)


@pytest.fixture
def course(tmp_path):
    """Return the root of a course with one lesson and one exercise, not built yet."""
    for folder, name, text in (("course", "01_x", LESSON), ("exercises/text", "e", EXERCISE)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{name}.py").write_text(text)
    return tmp_path


def test_write_builds_what_differs_and_nothing_else(course):
    assert [page.name for page in stale_notebooks(course)] == ["01_x", "e"]
    assert len(write_notebooks(course)) == 2
    assert not stale_notebooks(course)
    assert not write_notebooks(course)
    text = course / "course" / "01_x.py"
    text.write_text(text.read_text().replace("x = 1", "x = 2"))
    assert [page.name for page in stale_notebooks(course)] == ["01_x"]
    assert [page.name for page in pages(course) if page.is_outdated] == ["01_x"]
    assert write_notebooks(course) == [course / "course" / "01_x.ipynb"]
    assert not any(page.is_outdated for page in pages(course))


def test_unknown_page_is_answered_with_the_names_there_are(course):
    with pytest.raises(ValueError, match="there are: 01_x, e"):
        find_page("fsdp99", course)


def test_notebooks_of_the_course_are_what_their_texts_say():
    assert not stale_notebooks(), "run `make notebooks`"


def test_check_names_the_notebook_that_differs(course, monkeypatch, capsys):
    from grader import __main__ as command
    from grader import notebooks

    monkeypatch.setattr(command, "ROOT", course)
    monkeypatch.setattr(notebooks.stale_notebooks, "__defaults__", (course,))
    assert command.main(["notebooks", "--check"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "course/01_x.ipynb is not what its text says; run `make notebooks`"


def test_help_starts_without_torch():
    code = "import sys, grader.__main__, grader.learn; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
