"""FileChange: a rank dies at each change of files that it makes, with what was done until then."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn

import sandbox
from sandbox import DiskFull, FileChange, Kill, Pause, RankDiedError
from sandbox.faults import record_file_changes
from sandbox.faults.watcher import ChangeKind


def save_by_hand(root: Path) -> None:
    folder = root / f"rank{dist.get_rank()}"
    folder.mkdir()
    with open(folder / "data.tmp", "wb", buffering=0) as file:
        file.write(b"0123456789")
        file.write(b"abcdefg")
        os.fsync(file.fileno())
    os.replace(folder / "data.tmp", folder / "data")
    (folder / "data").unlink()
    folder.rmdir()


# What is there before each change, and in the middle of each write, of those above.
STATES: list[dict[str, bytes] | None] = [
    None,  # before mkdir
    {},  # before open
    {"data.tmp": b"01234"},
    {"data.tmp": b"0123456789abc"},
    {"data.tmp": b"0123456789abcdefg"},  # before fsync
    {"data.tmp": b"0123456789abcdefg"},  # before close
    {"data.tmp": b"0123456789abcdefg"},  # before replace
    {"data": b"0123456789abcdefg"},  # before unlink
    {},  # before rmdir
]


def read(folder: Path) -> dict[str, bytes] | None:
    if not folder.exists():
        return None
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("number", range(1, len(STATES) + 1))
def test_killed_at_a_change_a_rank_leaves_what_it_had_done_until_then(
    number: int, tmp_path: Path
) -> None:
    kill = Kill(rank=1, at=FileChange(number))
    with pytest.raises(RankDiedError) as error:
        sandbox.launch(save_by_hand, tmp_path, world_size=2, faults=[kill])
    assert error.value.rank == 1
    assert [each.fault for each in error.value.run.faults] == [kill]
    assert read(tmp_path / "rank1") == STATES[number - 1]
    assert read(tmp_path / "rank0") is None


def test_one_change_more_than_there_are_never_comes(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    kill = Kill(rank=0, at=FileChange(len(STATES) + 1))
    sandbox.launch(save_by_hand, tmp_path, world_size=1, faults=[kill])
    assert capsys.readouterr().out == f"Did not happen: {kill!r}.\n"


def record(fn, *args) -> list[tuple[ChangeKind, str]]:
    with record_file_changes() as changes:
        fn(*args)
    return [(change.kind, change.path) for change in changes]


def test_the_record_lists_each_ranks_changes(tmp_path: Path) -> None:
    run = sandbox.launch(record, save_by_hand, tmp_path, world_size=3)
    for rank, changes in enumerate(run.results):
        folder = tmp_path / f"rank{rank}"
        assert changes == [
            (kind, str(folder / name))
            for kind, name in [
                ("mkdir", ""),
                ("open", "data.tmp"),
                ("write", "data.tmp"),
                ("write", "data.tmp"),
                ("fsync", "data.tmp"),
                ("close", "data.tmp"),
                ("rename", "data"),
                ("remove", "data"),
                ("rmdir", ""),
            ]
        ]


def test_pathlib_shutil_tempfile_and_torch_are_seen(tmp_path: Path) -> None:
    def work() -> None:
        torch.save(torch.ones(3), tmp_path / "t.pt")
        (tmp_path / "text").write_text("x")
        os.truncate(tmp_path / "text", 0)
        (tmp_path / "a" / "b").mkdir(parents=True)
        shutil.copyfile(tmp_path / "t.pt", tmp_path / "a" / "copy")
        (tmp_path / "a" / "latest").symlink_to("b")
        os.link(tmp_path / "text", tmp_path / "a" / "b" / "text")
        shutil.move(tmp_path / "text", tmp_path / "moved")
        shutil.rmtree(tmp_path / "a")
        fd, name = tempfile.mkstemp(dir=tmp_path)
        os.close(fd)
        Path(name).rename(tmp_path / "named")
        with tempfile.TemporaryDirectory(dir=tmp_path, prefix="x"):
            pass
        descriptor = os.open(tmp_path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)  # of what was only read: no change
        (tmp_path / "moved").read_text()
        with open(os.devnull, "w") as null:
            null.write("x")

    (changes,) = sandbox.launch(record, work, world_size=1).results
    found = [(kind, os.path.relpath(path, tmp_path)) for kind, path in changes]
    temporary = [name for _, name in found if name.startswith(("tmp", "x"))]
    removed = sorted(found[found.index(("rename", "moved")) + 1 :][:5])
    assert removed == [
        ("remove", "a/b/text"),
        ("remove", "a/copy"),
        ("remove", "a/latest"),
        ("rmdir", "a"),
        ("rmdir", "a/b"),
    ]
    writes = [kind for kind, name in found if name == "t.pt"]
    assert (writes[0], writes[-1], set(writes[1:-1])) == ("open", "close", {"write"})
    assert [each for each in found if each[1] != "t.pt" and each not in removed] == [
        ("open", "text"),
        ("write", "text"),
        ("close", "text"),
        ("truncate", "text"),
        ("mkdir", "a/b"),  # its parent is lacking
        ("mkdir", "a"),
        ("mkdir", "a/b"),
        ("open", "a/copy"),
        ("write", "a/copy"),
        ("close", "a/copy"),
        ("symlink", "a/latest"),
        ("link", "a/b/text"),
        ("rename", "moved"),
        ("open", temporary[0]),
        ("close", temporary[0]),
        ("rename", "named"),
        ("mkdir", temporary[-1]),
        ("rmdir", temporary[-1]),
        ("fsync", "."),
    ]


def test_all_that_was_replaced_is_given_back() -> None:
    names = ("open", "close", "write", "rename", "mkdir", "unlink", "fsync", "link")
    before = [getattr(os, name) for name in names]
    with record_file_changes():
        assert all(getattr(os, name) is not old for name, old in zip(names, before, strict=True))
    assert [getattr(os, name) for name in names] == before


def save_sharded(root: Path) -> None:
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = nn.Linear(7, 5)
    fully_shard(model)
    dcp.save(model.state_dict(), checkpoint_id=root / "ckpt")
    shutil.rmtree(root / "ckpt") if dist.get_rank() == 0 else None


def test_every_change_of_a_dcp_save_is_a_kill_point(tmp_path: Path) -> None:
    lists = sandbox.launch(record, save_sharded, tmp_path, world_size=3).results
    again = sandbox.launch(record, save_sharded, tmp_path, world_size=3).results
    counts = [len(each) for each in lists]
    assert counts == [len(each) for each in again]
    assert counts[0] > counts[1] > 3  # rank 0 writes the metadata
    renamed = [number for number, (kind, _) in enumerate(lists[0], 1) if kind == "rename"][-1]
    for number, is_there in ((renamed, False), (renamed + 1, True)):
        with pytest.raises(RankDiedError, match="rank 0 was killed"):
            sandbox.launch(
                save_sharded, tmp_path, world_size=3, faults=[Kill(0, FileChange(number))]
            )
        assert (tmp_path / "ckpt" / ".metadata").exists() == is_there
        shutil.rmtree(tmp_path / "ckpt")


def test_changes_in_a_thread_count(tmp_path: Path) -> None:
    def write_in_thread() -> None:
        thread = threading.Thread(target=(tmp_path / "a").write_bytes, args=(b"0123",))
        thread.start()
        thread.join()

    with pytest.raises(RankDiedError):
        sandbox.launch(write_in_thread, world_size=1, faults=[Kill(0, FileChange(2))])
    assert (tmp_path / "a").read_bytes() == b"01"


def test_a_pause_in_a_write_does_not_harm_it(tmp_path: Path) -> None:
    pause = Pause(0, FileChange(2), for_s=0.1)
    run = sandbox.launch((tmp_path / "a").write_text, "0123456", world_size=1, faults=[pause])
    assert run.results == [7]
    assert [each.fault for each in run.faults] == [pause]
    assert (tmp_path / "a").read_text() == "0123456"


def test_nothing_happens_at_a_write_that_fails_nor_later(tmp_path: Path) -> None:
    def write_two() -> None:
        for name in ("full/a", "b"):
            try:
                (tmp_path / name).write_text("0123456789")
            except OSError:
                continue

    (tmp_path / "full").mkdir()
    disk = DiskFull(tmp_path / "full", after_bytes=0)
    kill = Kill(0, FileChange(2))  # the write that the disk refuses
    run = sandbox.launch(write_two, world_size=1, faults=[disk, kill])
    assert [each.fault for each in run.faults] == [disk]
    assert (tmp_path / "full" / "a").read_text() == ""
    assert (tmp_path / "b").read_text() == "0123456789"
