"""Who holds what, computed by one rank alone, is what the ranks really hold."""

from __future__ import annotations

import deepspeed
import pytest
import torch
import torch.distributed as dist
from drawing import elements, parse, texts, titles
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import sandbox
from sandbox import show_sharding
from sandbox.pictures.sharding import Sharding, shorten


def make_model() -> nn.Module:
    """Return parameters of 7 and 5 rows, a scalar, one of 4 dims, and a tied one."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 7), nn.Linear(7, 5, bias=False), nn.Linear(7, 5, bias=False))
    model[2].weight = model[1].weight
    model.register_parameter("kernel", nn.Parameter(torch.ones(5, 2, 3, 2)))
    return model


def local_shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {
        name: tuple(p.to_local().shape if isinstance(p, DTensor) else p.shape)
        for name, p in model.named_parameters()
    }


def with_fsdp2() -> tuple:
    model = fully_shard(make_model())
    return show_sharding(model), local_shapes(model)


def with_two_axes() -> tuple:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    model = make_model()
    plan = {"0": ColwiseParallel(), "1": RowwiseParallel()}
    parallelize_module(model, mesh["tensor"], plan)
    fully_shard(model, mesh=mesh["data"])
    return show_sharding(model), local_shapes(model)


def with_hybrid_sharding() -> tuple:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = fully_shard(make_model(), mesh=mesh)
    return show_sharding(model), local_shapes(model)


@pytest.mark.parametrize(
    ("function", "world_size"),
    [(with_fsdp2, 1), (with_fsdp2, 3), (with_two_axes, 4), (with_hybrid_sharding, 4)],
)
def test_what_one_rank_computes_is_what_every_rank_holds(function, world_size: int) -> None:
    results = sandbox.launch(function, world_size=world_size).results
    shardings = [sharding for sharding, _ in results]
    assert all(sharding == shardings[0] for sharding in shardings)
    for rank, (sharding, shapes) in enumerate(results):
        for layout in sharding.layouts:
            (part,) = [part for part in layout.parts if part.rank == rank]
            for name in layout.names:
                shape = shapes[name]
                assert part.rows[1] - part.rows[0] == shape[0], (name, rank)
                if part.columns is not None and part.numel:
                    assert part.columns[1] - part.columns[0] == shape[1], (name, rank)


def test_padding_is_hatched_and_every_rank_has_its_row() -> None:
    sharding = sandbox.launch(with_fsdp2, world_size=3).results[0][0]
    seven = next(layout for layout in sharding.layouts if layout.shape == (7, 4))
    assert [part.rows for part in seven.parts] == [(0, 3), (3, 6), (6, 7)]
    assert [part.padding for part in seven.parts] == [0, 0, 2]
    root = parse(sharding.picture())
    assert "rank 2: 2 rows of padding" in titles(root)
    assert any(r.attrib["fill"].startswith("url(#hatch") for r in elements(root, "rect"))
    assert texts(root).count("rank 1") == len(sharding.layouts)
    assert "Padding is hatched." in sharding.sentence


def with_zero3() -> tuple:
    optimizer = {"type": "AdamW", "params": {"torch_adam": True}}
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "optimizer": optimizer,
        "zero_optimization": {"stage": 3},
    }
    engine, *_ = deepspeed.initialize(model=make_model(), config=config)
    held = {name: p.ds_tensor.numel() for name, p in engine.module.named_parameters()}
    return show_sharding(engine.module), held


def test_zero3_cuts_flat_elements_and_pads_the_last() -> None:
    sharding, held = sandbox.launch(with_zero3, world_size=3).results[2]
    for layout in sharding.layouts:
        assert layout.unit == "elements"
        part = layout.parts[2]
        for name in layout.names:
            assert part.rows[1] - part.rows[0] + part.padding == held[name]
        assert layout.slots == 3 * held[layout.names[0]]


def with_fsdp1() -> tuple:
    model = FullyShardedDataParallel(make_model(), device_id=torch.device("cpu"))
    (flat,) = model.parameters()
    return show_sharding(model), flat.numel()


def test_fsdp1_cuts_its_flat_parameter() -> None:
    results = sandbox.launch(with_fsdp1, world_size=3).results
    (layout,) = results[0][0].layouts
    assert layout.how == "elements by FSDP1, 4 parameters in one"
    for part, (_, numel) in zip(layout.parts, results, strict=True):
        assert part.rows[1] - part.rows[0] + part.padding == numel


def with_no_sharding() -> Sharding:
    return show_sharding(nn.Linear(3, 2))


def test_a_plain_model_is_whole_on_every_rank() -> None:
    sharding = sandbox.launch(with_no_sharding, world_size=2).results[1]
    assert repr(sharding) == "2 parameters on ranks 0, 1: each rank holds 8 elements."
    assert all(layout.how == "not sharded" for layout in sharding.layouts)
    assert not dist.is_initialized()
    assert show_sharding(nn.Linear(3, 2)).sentence.startswith("2 parameters on rank 0:")


def with_one_tensor() -> Sharding:
    mesh = init_device_mesh("cpu", (3,))
    return show_sharding(distribute_tensor(torch.ones(7, 2), mesh, [Shard(0)]))


def test_a_single_tensor_is_drawn() -> None:
    sharding = sandbox.launch(with_one_tensor, world_size=3).results[0]
    (layout,) = sharding.layouts
    assert [part.rows for part in layout.parts] == [(0, 3), (3, 6), (6, 7)]
    assert sharding.sentence.startswith("1 tensor on ranks 0-2: ranks 0, 1 hold most, 6 elements")
    assert texts(parse(sharding.picture()))


@pytest.mark.parametrize("model", ["x", 3, torch.ones(2)])
def test_what_has_no_sharding_is_refused_in_one_line(model: object) -> None:
    with pytest.raises(ValueError, match="expected a module or a DTensor") as caught:
        show_sharding(model)
    assert type(model).__name__ in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_without_parameters_still_draws() -> None:
    sharding = show_sharding(nn.ReLU())
    assert sharding.sentence == "The model has no parameters."
    parse(sharding.picture())


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (("blocks.0.a.weight", "blocks.1.a.weight"), "blocks.*.a.weight"),
        (("blocks.0.a.weight",), "blocks.0.a.weight"),
        (("aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"), "aaaaaaaa, …"),
        (("a" * 40 + "end",), "…aaaaaaaaaaaaaaaaend"),
    ],
)
def test_names_are_shortened_to_the_room(names: tuple[str, ...], short: str) -> None:
    assert shorten(names, 20) == short
