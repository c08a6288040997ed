"""TornWrite: one file is cut after its writer saw success; nothing else differs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn

import sandbox
from sandbox import Collective, Save, Step, TornWrite


def save_twice(folder: Path) -> None:
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = nn.Linear(70, 51)
    fully_shard(model)
    for number in (1, 2):
        dcp.save(model.state_dict(), checkpoint_id=folder / str(number))


def read_all(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def is_metadata(name: str) -> bool:
    return name.endswith(".metadata")  # holds a random name and the folder: never the same twice


@pytest.mark.parametrize("world_size", [1, 3])
@pytest.mark.parametrize("zeroed", [False, True])
def test_the_file_of_that_save_is_cut_and_no_other(
    world_size: int, zeroed: bool, tmp_path: Path
) -> None:
    torn = f"2/__{world_size - 1}_0.distcp"
    fault = TornWrite("*.distcp", world_size - 1, at=Save(2), kept=0.3, zeroed=zeroed)
    sandbox.launch(save_twice, tmp_path / "a", world_size=world_size)
    sandbox.launch(save_twice, tmp_path / "b", world_size=world_size, faults=[fault])
    whole, found = read_all(tmp_path / "a"), read_all(tmp_path / "b")
    assert found.keys() == whole.keys()
    num_kept = int(len(whole[torn]) * 0.3)
    rest = bytes(len(whole[torn]) - num_kept) if zeroed else b""
    assert found[torn] == whole[torn][:num_kept] + rest
    for name in whole:
        assert name == torn or is_metadata(name) or found[name] == whole[name]


def test_a_file_that_gets_its_name_by_renaming_is_torn(tmp_path: Path) -> None:
    fault = TornWrite("2/.metadata", rank=0, kept=0)
    sandbox.launch(save_twice, tmp_path, world_size=2, faults=[fault])
    assert (tmp_path / "1" / ".metadata").stat().st_size > 0
    assert (tmp_path / "2" / ".metadata").stat().st_size == 0


@pytest.mark.parametrize(
    ("at", "torn"), [(None, "0"), (Step(2), "2"), (Collective(1), "0"), (Collective(3), "2")]
)
def test_it_is_the_first_that_matches_after_the_moment(
    at: sandbox.Step | Collective | None, torn: str, tmp_path: Path
) -> None:
    def write_and_step() -> None:
        parameter = nn.Parameter(torch.ones(1))
        parameter.grad = torch.ones(1)
        optimizer = torch.optim.SGD([parameter])
        for number in range(4):
            dist.barrier()
            (tmp_path / f"{number}.log").write_text("x" * 101)
            (tmp_path / f"{number}.txt").write_text("")  # nothing to tear
            (tmp_path / f"{number}.txt").write_text("x" * 101)
            optimizer.step()

    sandbox.launch(write_and_step, world_size=1, faults=[TornWrite("*.txt", 0, at=at)])
    for path in tmp_path.iterdir():
        assert path.stat().st_size == (50 if path.name == f"{torn}.txt" else 101)


def test_only_that_ranks_files_are_torn(tmp_path: Path) -> None:
    def write() -> int:
        return (tmp_path / f"rank{dist.get_rank()}.txt").write_text("x" * 100)

    run = sandbox.launch(write, world_size=3, faults=[TornWrite(str(tmp_path / "*.txt"), rank=1)])
    assert run.results == [100] * 3
    sizes = [(tmp_path / f"rank{rank}.txt").stat().st_size for rank in range(3)]
    assert sizes == [100, 50, 100]
