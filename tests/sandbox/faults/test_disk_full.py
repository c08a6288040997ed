"""DiskFull: under one folder, and for one rank, writes fail once so many bytes are written."""

from __future__ import annotations

import errno
import io
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

import sandbox
from sandbox import DiskFull, RankError


def write(folder: Path) -> list[int | None]:
    """Write 4 files of 1000 bytes; return the errno of each."""
    codes: list[int | None] = []
    for number in range(4):
        try:
            with open(folder / f"{dist.get_rank()}-{number}", "wb") as file:
                file.write(b"x" * 1000)
        except OSError as error:
            codes.append(error.errno)
        else:
            codes.append(None)
    return codes


@pytest.mark.parametrize("rank", [None, 1])
def test_what_fits_is_written_and_then_no_space_is_left(rank: int | None, tmp_path: Path) -> None:
    full, other = tmp_path / "full", tmp_path / "full-not"
    full.mkdir()
    other.mkdir()
    disk = DiskFull(full, after_bytes=2300, rank=rank)
    run = sandbox.launch(
        lambda: (write(full), write(other)), world_size=3, faults=[disk], timeout_s=60
    )
    free = [None] * 4
    for at in range(3):
        is_full = rank in (None, at)
        expected = [None, None, errno.ENOSPC, errno.ENOSPC] if is_full else free
        assert run.results[at] == (expected, free)
        sizes = [(full / f"{at}-{number}").stat().st_size for number in range(4)]
        assert sizes == ([1000, 1000, 300, 0] if is_full else [1000] * 4)


def test_a_folder_can_be_named_before_it_exists_and_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def make_and_write() -> list[int | None]:
        folder = Path("ckpt/deep")
        folder.mkdir(parents=True)
        return write(folder)

    run = sandbox.launch(make_and_write, world_size=1, faults=[DiskFull("ckpt", 0)])
    assert run.results == [[errno.ENOSPC] * 4]


def test_torch_save_ends_as_on_a_real_full_disk(tmp_path: Path) -> None:
    """On a tmpfs of 8 KiB, torch 2.13 was seen to raise this, and to leave a full 8192 bytes."""

    def save() -> None:
        torch.save({"a": torch.ones(10000)}, tmp_path / "model.pt")

    with pytest.raises(RankError, match="unexpected pos") as error:
        sandbox.launch(save, world_size=1, faults=[DiskFull(tmp_path, 8192)])
    assert error.value.exc_type == "RuntimeError"
    assert "No space left on device" in error.value.traceback_text
    assert (tmp_path / "model.pt").stat().st_size == 8192


@pytest.mark.parametrize("world_size", [1, 3])
def test_a_dcp_save_fails_and_leaves_a_part(world_size: int, tmp_path: Path) -> None:
    def save() -> None:
        from torch.distributed.fsdp import fully_shard

        model = torch.nn.Linear(100, 99)
        fully_shard(model)
        dcp.save(model.state_dict(), checkpoint_id=tmp_path / "ckpt")

    last = world_size - 1
    for _ in range(2):  # the second over what the first has left
        with pytest.raises(RankError, match="CheckpointException") as error:
            sandbox.launch(
                save, world_size=world_size, faults=[DiskFull(tmp_path / "ckpt", 5000, rank=last)]
            )
        assert f"Injected: DiskFull(path='{tmp_path}/ckpt'" in error.value.message
        assert "No space left on device" in error.value.exc_message
        sizes = {path.name: path.stat().st_size for path in (tmp_path / "ckpt").iterdir()}
        assert sizes.pop(f"__{last}_0.distcp") == 5000
        assert all(size > 10000 for size in sizes.values())
        assert ".metadata" not in sizes


def test_after_the_call_the_disk_is_not_full(tmp_path: Path) -> None:
    with sandbox.World(1) as world:
        before = world.run(lambda: io.open.__module__).results
        full = world.run(write, tmp_path, faults=[DiskFull(tmp_path, 0)])
        assert full.results == [[errno.ENOSPC] * 4]
        assert world.run(write, tmp_path).results == [[None] * 4]
        assert world.run(lambda: io.open.__module__).results == before


def test_every_way_of_python_to_write_is_seen(tmp_path: Path) -> None:
    def try_all() -> dict[str, object]:
        import os
        import pickle
        import shutil
        import tempfile
        import zipfile

        import numpy

        source = tmp_path.parent / "source"
        source.write_bytes(b"x" * 100)

        def write_descriptor(path: Path) -> None:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT)
            try:
                os.write(fd, b"x" * 100)
            finally:
                os.close(fd)

        def write_vectors(path: Path) -> None:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT)
            try:
                os.writev(fd, [b"x" * 50, b"y" * 50])
            finally:
                os.close(fd)

        def write_temporary(path: Path) -> None:
            with tempfile.NamedTemporaryFile(dir=path.parent) as file:
                file.write(b"x" * 100)

        def write_pickle(path: Path) -> None:
            with open(path, "wb") as file:
                pickle.dump(list(range(100)), file)

        def write_zip(path: Path) -> None:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("name", "x" * 100)

        writers = {
            "text": lambda path: path.write_text("x" * 100),
            "bytes": lambda path: path.write_bytes(b"x" * 100),
            "append": lambda path: path.open("ab", buffering=0).write(b"x" * 100),
            "descriptor": write_descriptor,
            "vectors": write_vectors,
            "temporary": write_temporary,
            "pickle": write_pickle,
            "zip": write_zip,
            "copy": lambda path: shutil.copyfile(source, path),
            "numpy": lambda path: numpy.save(path, numpy.ones(100)),
        }
        codes: dict[str, object] = {}
        for name, writer in writers.items():
            try:
                codes[name] = writer(tmp_path / name)
            except OSError as error:
                codes[name] = error.errno
        return codes

    codes = sandbox.launch(try_all, world_size=1, faults=[DiskFull(tmp_path, 0)]).results[0]
    assert codes == dict.fromkeys(codes, errno.ENOSPC)
    assert len(codes) == 10
