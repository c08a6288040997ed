"""Each student's folder gives a notebook or says why not, whatever lies in it."""

import os
from pathlib import Path

import handed_in
import pytest
from class_files import hand_in
from handed_in import HandedIn, read_class


def problem(submitted: Path) -> str:
    (only,) = read_class("fsdp01", submitted)
    assert only.notebook == ""
    return only.problem


def test_submissions_are_found_by_student_whatever_bytes_they_hold(tmp_path: Path) -> None:
    hand_in(tmp_path, "zoë", b"{}")
    hand_in(tmp_path, "ann b", b"\xff{}")
    (tmp_path / ".cache").mkdir()
    (tmp_path / "list.txt").touch()
    assert read_class("fsdp01", tmp_path) == [HandedIn("ann b", "\ufffd{}"), HandedIn("zoë", "{}")]


def test_who_handed_in_nothing_or_under_another_name_is_told(tmp_path: Path) -> None:
    student = tmp_path / "ann"
    student.mkdir()
    assert problem(tmp_path) == "there is no fsdp01/fsdp01.ipynb"
    (student / "fsdp01").mkdir()
    (student / "fsdp01" / "fsdp01 (1).ipynb").touch()
    expected = "there is no fsdp01/fsdp01.ipynb; there is fsdp01/fsdp01 (1).ipynb"
    assert problem(tmp_path) == expected


def test_links_are_not_followed(tmp_path: Path) -> None:
    hand_in(tmp_path / "others", "ann", b"{}")
    copycat = tmp_path / "submitted" / "copycat"
    copycat.parent.mkdir()
    copycat.symlink_to(tmp_path / "others" / "ann")
    assert problem(copycat.parent) == "copycat is a link"
    copycat.unlink()
    copycat.mkdir()
    (copycat / "fsdp01").symlink_to(tmp_path / "others" / "ann" / "fsdp01")
    assert problem(copycat.parent) == "copycat/fsdp01 is a link"
    (copycat / "fsdp01").unlink()
    (copycat / "fsdp01").mkdir()
    (copycat / "fsdp01" / "fsdp01.ipynb").symlink_to("/dev/zero")
    assert problem(copycat.parent) == "copycat/fsdp01/fsdp01.ipynb is a link"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_not_a_file_is_not_opened(tmp_path: Path, make) -> None:
    (tmp_path / "ann" / "fsdp01").mkdir(parents=True)
    make(tmp_path / "ann" / "fsdp01" / "fsdp01.ipynb")
    assert problem(tmp_path) == "fsdp01/fsdp01.ipynb is not a file"


def test_a_file_that_is_too_large_or_not_ours_to_read_is_told(tmp_path: Path, monkeypatch) -> None:
    hand_in(tmp_path, "ann", b"{}")
    monkeypatch.setattr(handed_in, "MAX_BYTES", 1)
    assert problem(tmp_path) == "the notebook is larger than 0 MB"
    monkeypatch.undo()

    def refuse(self: Path) -> bytes:  # root, which runs tests in containers, may read all
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert problem(tmp_path) == "the notebook cannot be read: Permission denied"


@pytest.mark.parametrize("name", ["a+b", "a*", "what?", "[c]", "x" * 201])
def test_a_name_that_nbgrader_would_not_find_is_told(tmp_path: Path, name: str) -> None:
    hand_in(tmp_path, name, b"{}")
    assert problem(tmp_path).startswith("nbgrader takes no *, ?, [, ] or + in a name")


def test_a_folder_without_students_is_refused_and_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no folder of a student; expected STUDENT/fsdp01"):
        read_class("fsdp01", tmp_path)
    with pytest.raises(ValueError, match="nowhere: No such file or directory; expected STUDENT"):
        read_class("fsdp01", tmp_path / "nowhere")
