"""Results are kept one by one: each whole, in a new folder or in a tar that may be cut short."""

import io
import subprocess
from pathlib import Path

import pytest
from results import Archive, Folder


def test_a_folder_keeps_the_last_of_each_name_and_nothing_else(tmp_path: Path) -> None:
    place = Folder(tmp_path / "deep" / "graded")
    place.put("grades.csv", "a\r\n")
    place.put("grades.csv", "é\r\n")
    place.end()
    assert [path.name for path in (tmp_path / "deep" / "graded").iterdir()] == ["grades.csv"]
    assert (tmp_path / "deep" / "graded" / "grades.csv").read_bytes() == "é\r\n".encode()


def test_results_are_not_mixed_with_those_of_another_run(tmp_path: Path) -> None:
    Folder(tmp_path / "graded")
    with pytest.raises(ValueError, match=r"graded exists, and .* name a new folder, or remove it"):
        Folder(tmp_path / "graded")
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"file/graded cannot be made: Not a directory"):
        Folder(tmp_path / "file" / "graded")


@pytest.mark.parametrize("is_cut", [False, True])
def test_tar_unpacks_the_last_of_each_name_also_when_cut_short(tmp_path: Path, is_cut) -> None:
    stream = io.BytesIO()
    archive = Archive(io.TextIOWrapper(stream))
    archive.put("zoë.html", "<p>" + 600 * "x")
    archive.put("grades.csv", "first")
    archive.put("grades.csv", "second")
    if not is_cut:
        archive.end()
    done = subprocess.run(["tar", "-x"], cwd=tmp_path, input=stream.getvalue(), check=not is_cut)
    assert done.returncode in (0, 2)
    graded = tmp_path / "graded"
    assert {path.name for path in graded.iterdir()} == {"zoë.html", "grades.csv"}
    assert (graded / "grades.csv").read_text() == "second"
    assert (graded / "zoë.html").stat().st_size == 603


def test_a_tar_is_not_written_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with pytest.raises(ValueError, match=r"pipe it, as in … - \| tar -x"):
        Archive(stream)


def test_a_name_that_is_no_utf_8_loses_no_results(tmp_path: Path) -> None:
    odd = b"\xffann".decode("utf-8", "surrogateescape")
    stream = io.BytesIO()
    archive = Archive(io.TextIOWrapper(stream))
    for place in (Folder(tmp_path / "graded"), archive):
        place.put(f"{odd}.html", f"of {odd}")
        place.end()
    kept = tmp_path / "graded" / f"{odd}.html"
    assert kept.read_text() == "of ?ann"
    kept.unlink()
    subprocess.run(["tar", "-x", "-C", tmp_path], input=stream.getvalue(), check=True)
    assert kept.read_text() == "of ?ann"
