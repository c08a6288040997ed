"""The learner's folder: filled with what is new, and nothing that was edited is overwritten."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course import ROOT
from grader.learn import STATE, fill, reset
from grader.notebooks import write_notebooks

DUMMY = Path(__file__).parent / "dummy" / "dummy.py"
LESSON = "# %% [markdown]\n# # Title\n\n# %%\nx = 1\n"


@pytest.fixture
def root(tmp_path):
    """Return a course with a lesson and an exercise, built."""
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "01_x.py").write_text(LESSON)
    (tmp_path / "exercises" / "text").mkdir(parents=True)
    shutil.copy(DUMMY, tmp_path / "exercises" / "text")
    shutil.copy(ROOT / "exercises" / "nbgrader_config.py", tmp_path / "exercises")
    write_notebooks(tmp_path)
    return tmp_path


@pytest.fixture
def learn(root):
    """Return the learner's folder, filled once."""
    learn = root / "learn"
    assert list(fill(root, learn)) == ["01_x.ipynb: new", "dummy.ipynb: new"]
    return learn


def edit(notebook, old, new):
    text = notebook.read_text()
    assert old in text
    notebook.write_text(text.replace(old, new))


def renew(root, name="dummy"):
    """Change the course's own text of a notebook, and build it."""
    text = root / ("exercises/text/dummy.py" if name == "dummy" else "course/01_x.py")
    edit(text, "itle" if name != "dummy" else "tiny", "ittle")
    write_notebooks(root)


def test_exercise_is_handed_out_without_its_solutions(learn):
    text = (learn / "dummy.ipynb").read_text()
    assert "return 2 * x" not in text
    assert "1234567" not in text
    assert "raise NotImplementedError()" in text


def test_second_fill_changes_nothing_and_imports_little(root, learn):
    before = {path: path.read_bytes() for path in learn.iterdir()}
    code = "import sys; from pathlib import Path; from grader.learn import fill;"
    code += (
        f"print(list(fill(Path({str(root)!r}), Path({str(learn)!r}))), 'nbgrader' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[] False\n"  # what takes seconds is not even imported
    assert {path: path.read_bytes() for path in learn.iterdir()} == before


def test_untouched_notebook_is_refreshed(root, learn):
    renew(root)
    assert list(fill(root, learn)) == ["dummy.ipynb: refreshed"]
    assert "ittle" in (learn / "dummy.ipynb").read_text()


def test_running_a_notebook_is_no_edit(root, learn):
    copy = learn / "01_x.ipynb"
    notebook = json.loads(copy.read_text())
    notebook["cells"][1] |= {"execution_count": 3, "outputs": [{"output_type": "stream"}]}
    copy.write_text(json.dumps(notebook))
    renew(root, "01_x")
    assert list(fill(root, learn)) == ["01_x.ipynb: refreshed"]


def test_edited_notebook_is_kept_and_the_new_one_laid_beside_it_once(root, learn):
    copy = learn / "dummy.ipynb"
    edit(copy, "raise NotImplementedError()", "return 5")
    kept = copy.read_bytes()
    renew(root)
    (line,) = fill(root, learn)
    (beside,) = learn.glob("dummy.new-*.ipynb")
    assert line == f"dummy.ipynb: yours is kept as you edited it; the new version is {beside.name}"
    assert copy.read_bytes() == kept
    assert "ittle" in beside.read_text()
    assert not list(fill(root, learn))
    assert copy.read_bytes() == kept


@pytest.mark.parametrize(
    "text", ["not JSON", '{"cells": 3}', "\ud800".encode("utf-8", "surrogatepass")]
)
def test_broken_notebook_of_a_learner_is_kept(root, learn, text):
    copy = learn / "dummy.ipynb"
    copy.write_bytes(text if isinstance(text, bytes) else text.encode())
    kept = copy.read_bytes()
    renew(root)
    assert "yours is kept" in next(fill(root, learn))
    assert copy.read_bytes() == kept


def test_folder_without_its_state_keeps_what_is_there(root, learn):
    (learn / STATE).unlink()
    edit(learn / "dummy.ipynb", "raise NotImplementedError()", "return 5")
    assert ["yours is kept" in line for line in fill(root, learn)] == [True]
    assert "return 5" in (learn / "dummy.ipynb").read_text()


def test_reset_keeps_the_copy_aside_and_hands_out_a_fresh_one(root, learn):
    copy = learn / "dummy.ipynb"
    fresh = copy.read_bytes()
    for answer in ("return 5", "return 6"):
        edit(copy, "raise NotImplementedError()", answer)
        assert list(reset("dummy", root, learn))[-1] == "dummy.ipynb: new"
        assert copy.read_bytes() == fresh
    kept = sorted(path.read_text() for path in learn.glob("dummy.2*.ipynb"))
    assert ["return 5" in kept[0], "return 6" in kept[1]] == [True, True]


def test_reset_of_an_untouched_notebook_keeps_no_second_copy(root, learn):
    (line,) = reset("dummy", root, learn)
    assert "nothing to reset" in line
    assert not list(learn.glob("dummy.2*.ipynb"))


def test_deleted_notebook_is_handed_out_again(root, learn):
    (learn / "dummy.ipynb").unlink()
    assert list(fill(root, learn)) == ["dummy.ipynb: new"]


def test_a_damaged_record_loses_no_copy_and_the_lab_still_starts(root, learn):
    edit(learn / "dummy.ipynb", "raise NotImplementedError()", "return 5")
    (learn / ".handed_out.json").write_text("")
    list(fill(root, learn))
    assert "return 5" in (learn / "dummy.ipynb").read_text()
    assert list(fill(root, learn)) == []
