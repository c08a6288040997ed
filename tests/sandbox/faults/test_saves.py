"""Faults in the middle of a checkpoint save: some of its bytes are on disk, and not all."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn

import sandbox
from sandbox import Kill, Pause, RankDiedError, Save


def make_model() -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(70, 51), nn.Linear(51, 3))
    fully_shard(model)
    return model


def save_twice(folder: Path) -> None:
    model = make_model()
    for number in (1, 2):
        dcp.save(model.state_dict(), checkpoint_id=folder / str(number))


def load(folder: Path) -> bool:
    model = make_model()
    expected = model[0].weight.full_tensor().clone()
    with torch.no_grad():
        model[0].weight.zero_()
    dcp.load(model.state_dict(), checkpoint_id=folder)
    return bool(torch.equal(model[0].weight.full_tensor(), expected))


def sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir()}


def die(fn, *args, world_size: int, kill: Kill) -> None:
    with pytest.raises(RankDiedError, match=f"rank {kill.rank} was killed"):
        sandbox.launch(fn, *args, world_size=world_size, faults=[kill])


@pytest.mark.parametrize(("world_size", "rank"), [(1, 0), (3, 0), (3, 2)])
def test_killed_in_a_dcp_save_a_rank_leaves_a_part_of_its_file(
    world_size: int, rank: int, tmp_path: Path
) -> None:
    found = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        die(save_twice, folder, world_size=world_size, kill=Kill(rank, at=Save(2)))
        whole, part = sizes(folder / "1"), sizes(folder / "2")
        name = f"__{rank}_0.distcp"
        assert 0 < part.pop(name) < whole.pop(name)
        assert ".metadata" in whole
        assert ".metadata" not in part  # the coordinator writes it when all are done
        assert part.items() <= whole.items()  # what the others wrote is whole
        found.append((folder / "2" / name).read_bytes())
    assert found[0] == found[1]
    assert sandbox.launch(load, tmp_path / "a" / "1", world_size=2).results == [True, True]
    with pytest.raises(sandbox.RankError):
        sandbox.launch(load, tmp_path / "a" / "2", world_size=2)


def test_a_rank_with_nothing_to_write_is_killed_before_the_save_is_over(tmp_path: Path) -> None:
    def save_replicated() -> None:
        dcp.save({"weight": torch.ones(100)}, checkpoint_id=tmp_path / "ckpt")

    die(save_replicated, world_size=3, kill=Kill(1, at=Save(1)))
    assert ".metadata" not in sizes(tmp_path / "ckpt")


def test_an_asynchronous_save_dies_in_its_thread(tmp_path: Path) -> None:
    def save_async() -> None:
        model = make_model()
        group = dist.new_group(backend="gloo")
        future = dcp.async_save(
            model.state_dict(), checkpoint_id=tmp_path / "ckpt", process_group=group
        )
        future.result()

    sandbox.launch(save_async, world_size=2)
    whole = sizes(tmp_path / "ckpt")["__1_0.distcp"]
    (tmp_path / "ckpt" / ".metadata").unlink()
    die(save_async, world_size=2, kill=Kill(1, at=Save(1)))
    assert 0 < sizes(tmp_path / "ckpt")["__1_0.distcp"] < whole


@pytest.mark.parametrize("as_file", [False, True])
def test_torch_save_to_a_file_counts_and_into_memory_does_not(
    as_file: bool, tmp_path: Path
) -> None:
    def save_by_hand() -> None:
        for number in (1, 2, 3):
            torch.save({"a": torch.ones(2000)}, io.BytesIO())
            path = tmp_path / f"{number}.pt"
            if as_file:
                with path.open("wb") as file:
                    torch.save({"a": torch.ones(2000)}, file)
            else:
                torch.save({"a": torch.ones(2000)}, path)

    die(save_by_hand, world_size=1, kill=Kill(0, at=Save(2)))
    found = sizes(tmp_path)
    assert set(found) == {"1.pt", "2.pt"}
    assert 0 < found["2.pt"] < found["1.pt"]
    assert torch.load(tmp_path / "1.pt")["a"].sum() == 2000
    with pytest.raises((RuntimeError, OSError)):
        torch.load(tmp_path / "2.pt")


def test_a_pause_in_a_save_changes_no_byte(tmp_path: Path) -> None:
    sandbox.launch(save_twice, tmp_path / "a", world_size=3)
    pauses = [Pause(1, at=Save(1), for_s=0.3), Pause(0, at=Save(2), for_s=0.3)]
    sandbox.launch(save_twice, tmp_path / "b", world_size=3, faults=pauses)
    for name in ("1/__0_0.distcp", "1/__1_0.distcp", "2/__0_0.distcp", "2/__2_0.distcp"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()
    assert sandbox.launch(load, tmp_path / "b" / "2", world_size=2).results == [True, True]
