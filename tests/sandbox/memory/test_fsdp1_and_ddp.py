"""FSDP1 and DDP: flat shards with their padding, and DDP's buckets, against a count by hand."""

from __future__ import annotations

import functools
import math

import pytest

import sandbox
from sandbox.memory.history import Memory

PADDING = "lie in the same storages but are of no element: padding"
NUM_PARAMS = 5 * 7 + 7 + 7 * 3 + 3  # 66: odd for 4 ranks


def train(kind: str) -> None:
    import torch
    from torch import nn
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from torch.nn.parallel import DistributedDataParallel

    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    if kind.startswith("DDP"):
        model = DistributedDataParallel(model, gradient_as_bucket_view=kind == "DDP views")
    else:
        model = FullyShardedDataParallel(
            model,
            device_id=torch.device("cpu"),
            sharding_strategy=ShardingStrategy[kind.partition(" ")[0]],
            use_orig_params=kind.endswith("orig"),
        )
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.ones(2, 5)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


@functools.cache
def measure(kind: str, world_size: int) -> Memory:
    return sandbox.launch(train, kind, world_size=world_size, memory=True, timeout_s=60).memory


@pytest.mark.parametrize(
    ("kind", "world_size", "num_flat"),
    # With original parameters, each is padded to 16 bytes: 35, 7, 21, 3 become 36, 8, 24, 4.
    [("FULL_SHARD", 4, 66), ("FULL_SHARD orig", 3, 72)],
)
def test_fsdp1_shards_one_flat_parameter_and_pads_it(
    kind: str, world_size: int, num_flat: int
) -> None:
    memory = measure(kind, world_size)
    shard = math.ceil(num_flat / world_size)
    padding = [memory.at("step", r).facts.parameters_padding for r in range(world_size)]
    assert sum(padding) == (world_size * shard - NUM_PARAMS) * 4
    for rank in range(world_size):
        step = memory.at("step", rank, step=0)
        assert memory.at("init", rank).bytes["parameters"] == shard * 4
        assert step.bytes["parameters"] == shard * 4
        assert memory.at("backward", rank, step=0).bytes["gradients"] == shard * 4
        assert memory.at("init", rank).bytes["unsharded"] == 0
        # The root stays whole until backward, whatever the strategy.
        assert memory.at("forward", rank).bytes["unsharded"] == world_size * shard * 4
        assert step.bytes["unsharded"] == 0


def test_adamw_over_a_flat_parameter_has_one_step_counter() -> None:
    assert measure("FULL_SHARD", 4).at("step").bytes["optimizer"] == 2 * 17 * 4 + 4


def test_adamw_over_original_parameters_has_moments_of_what_the_rank_holds() -> None:
    memory = measure("FULL_SHARD orig", 3)
    elements = sum(
        memory.at("step", rank).bytes["optimizer"] - memory.at("step", rank).facts.step_counters
        for rank in range(3)
    )
    assert elements == 2 * NUM_PARAMS * 4


def test_with_no_shard_every_rank_holds_everything() -> None:
    memory = measure("NO_SHARD", 2)
    assert memory.at("step", 1).bytes["parameters"] == NUM_PARAMS * 4
    assert memory.at("backward", 1).bytes["gradients"] == NUM_PARAMS * 4
    assert memory.at("forward", 1).bytes["unsharded"] == 0


def test_ddp_holds_a_whole_model_and_buckets_as_large_as_its_gradients() -> None:
    """In the first step: in the second DDP makes new ones, while gloo's thread may hold the old."""
    memory = measure("DDP", 3)
    for rank in range(3):
        for phase in ("init", "forward", "backward", "step"):
            sample = memory.at(phase, rank, step=0)
            assert sample.bytes["parameters"] == NUM_PARAMS * 4
            # What DDP broadcast at its start is as large, and gloo's thread may still hold it.
            assert sample.bytes["buffers"] in (NUM_PARAMS * 4, 2 * NUM_PARAMS * 4)
        assert memory.at("backward", rank).bytes["gradients"] == NUM_PARAMS * 4
        assert memory.at("step", rank).bytes["optimizer"] == 2 * NUM_PARAMS * 4 + 4 * 4


def test_gradients_that_are_views_of_buckets_count_once() -> None:
    memory = measure("DDP views", 3)
    backward = memory.at("backward", 1, step=0)
    assert backward.bytes["gradients"] == NUM_PARAMS * 4
    assert backward.bytes["buffers"] == 0


@pytest.mark.parametrize(("kind", "stage"), [("DDP", 0), ("FULL_SHARD orig", 3)])
def test_the_gap_to_the_formula_is_padding_and_step_counters(kind: str, stage: int) -> None:
    memory = measure(kind, 3)
    comparison = memory.compare(sandbox.model_states(NUM_PARAMS, 3, stage), rank=2)
    padding = memory.at("step", 2).facts.parameters_padding
    counters = memory.at("step", 2).facts.step_counters
    for category in ("parameters", "gradients"):
        row = comparison[category]
        assert row.gap == (96 - 88 if stage == 3 else 0)
        assert row.reasons[:1] == ((f"{padding} B {PADDING}",) if padding else ())
    assert comparison["optimizer"].reasons[0] == f"{counters} B are step counters, scalars of 4 B"
    assert (comparison["optimizer"].gap == counters) == (stage == 0)
