"""The last value of a %%ranks cell: tensors side by side, pictures once, all else as text."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from drawing import parse, texts, titles
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

import sandbox
from sandbox import show_sharding
from sandbox.pictures import cell_values
from sandbox.pictures.cell_value import capture
from sandbox.pictures.tensors import TensorPicture


@pytest.fixture
def displayed(monkeypatch) -> list[Any]:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    return shown


def capture_shard() -> Any:
    mesh = init_device_mesh("cpu", (3,))
    return capture(distribute_tensor(torch.arange(10.0).reshape(5, 2), mesh, [Shard(0)]))


def test_a_dtensor_shows_which_rows_each_rank_has(displayed, capsys) -> None:
    values = dict(enumerate(sandbox.launch(capture_shard, world_size=3).results))
    assert [value.where for value in values.values()] == ["rows 0–1", "rows 2–3", "row 4"]
    cell_values.show_values(values)
    root = parse(displayed[0].picture())
    ranks = [text for text in texts(root) if text in ("rank 0", "rank 1", "rank 2")]
    assert ranks == ["rank 0", "rank 1", "rank 2"]
    assert "rank 2: 9 at [4, 1]" in titles(root)
    assert capsys.readouterr().out.strip() == ""


def capture_large() -> Any:
    return capture(torch.full((400, 3), float(dist.get_rank()), dtype=torch.bfloat16))


def test_a_large_tensor_is_summarised(displayed) -> None:
    cell_values.show_values(dict(enumerate(sandbox.launch(capture_large, world_size=2).results)))
    assert texts(parse(displayed[0].picture())).count("bfloat16 (400, 3)") == 2
    assert "bfloat16 (400, 3) each, all different." in displayed[0].picture().sentence


def test_what_is_the_same_on_all_ranks_is_text(displayed, capsys) -> None:
    cell_values.show_values({rank: capture(torch.ones(2)) for rank in range(3)})
    assert capsys.readouterr().out == "ranks 0-2: tensor([1., 1.])\n"
    assert not displayed


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(2.5),
        torch.tensor([True, False]),
        torch.tensor([1 + 2j]),
        torch.empty(0, 3),
        torch.empty(3, device="meta"),
        torch.ones(2, 2).to_sparse(),
        torch.ones(2, requires_grad=True),
        torch.tensor([float("nan"), -1e-30]),
        torch.ones(2, 2, 2, dtype=torch.int8),
    ],
)
def test_any_tensor_can_be_shown(tensor: torch.Tensor) -> None:
    value = capture(tensor)
    assert value.text == repr(tensor)
    parse(TensorPicture({0: value, 1: value}).picture())


def test_a_picture_is_drawn_once_and_beside_it_text_of_other_ranks(displayed, capsys) -> None:
    sharding = show_sharding(nn.Linear(3, 2))
    cell_values.show_values({0: capture(sharding), 1: capture(sharding), 2: "'none here'"})
    assert displayed == [sharding]
    assert capsys.readouterr().out == "rank 2: 'none here'\n"


def test_plain_text_has_each_ranks_repr() -> None:
    picture = TensorPicture({0: capture(torch.ones(1)), 2: capture(torch.zeros(1))})
    assert repr(picture) == "rank 0: tensor([1.])\nrank 2: tensor([0.])"
    assert picture._repr_mimebundle_()["text/plain"] == repr(picture)
