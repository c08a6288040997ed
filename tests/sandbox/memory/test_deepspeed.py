"""DeepSpeed's stages: what it really holds, which is not always what the paper says."""

from __future__ import annotations

import functools
import math

import pytest

import sandbox
from sandbox.memory.history import Memory

WORLD_SIZE = 3
TENSORS = (10 * 7, 7, 7 * 3, 3)  # elements, in their order
NUM_PARAMS = sum(TENSORS)  # 101
FLAT = 102  # the next multiple of 2 * WORLD_SIZE
SHARD = FLAT // WORLD_SIZE
ZERO3_SHARD = sum(math.ceil(numel / WORLD_SIZE) for numel in TENSORS)  # each tensor is padded
ITEMSIZE = {"float32": 4, "bfloat16": 2}


def train(stage: int, dtype: str) -> None:
    import deepspeed
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(10, 7), nn.ReLU(), nn.Linear(7, 3))
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "zero_optimization": {
            "stage": stage,
            "reduce_bucket_size": 500,
            "stage3_param_persistence_threshold": 0,
        },
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
        "bf16": {"enabled": dtype == "bfloat16"},
    }
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=config
    )
    batch = torch.ones(2, 10, dtype=getattr(torch, dtype))
    for _ in range(2):
        engine.backward(engine(batch).float().sum())
        engine.step()


@functools.cache
def measure(stage: int, dtype: str) -> Memory:
    run = sandbox.launch(train, stage, dtype, world_size=WORLD_SIZE, memory=True, timeout_s=90)
    return run.memory


def held(memory: Memory, category: str, phase: str, step: int = 0) -> list[int]:
    """Return the bytes of each rank; in the first step gloo's thread holds nothing older."""
    return [memory.at(phase, rank, step=step).bytes[category] for rank in range(WORLD_SIZE)]


def everywhere(nbytes: int) -> list[int]:
    return [nbytes] * WORLD_SIZE


def largest_gradients(itemsize: int) -> list[int]:
    """Return what a rank of ZeRO-1 and 2 keeps: every tensor whole of which it needs a part."""
    starts = [sum(TENSORS[:number]) for number in range(len(TENSORS))]
    kept = []
    for rank in range(WORLD_SIZE):
        begin, end = rank * SHARD, (rank + 1) * SHARD
        spans = zip(starts, TENSORS, strict=True)
        numel = sum(size for start, size in spans if start < end and start + size > begin)
        kept.append((numel + max(end - NUM_PARAMS, 0)) * itemsize)
    return kept


STAGES = [
    (0, "float32"),
    pytest.param(0, "bfloat16", marks=pytest.mark.slow),
    (1, "float32"),
    pytest.param(1, "bfloat16", marks=pytest.mark.slow),
    pytest.param(2, "float32", marks=pytest.mark.slow),
    (2, "bfloat16"),
    (3, "float32"),
    pytest.param(3, "bfloat16", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("stage", "dtype"), STAGES)
def test_parameters_are_whole_up_to_stage_2_and_padded_from_stage_1_on(stage, dtype) -> None:
    numel = {0: NUM_PARAMS, 1: FLAT, 2: FLAT, 3: ZERO3_SHARD}[stage]
    for phase in ("init", "forward", "backward", "step"):
        expected = everywhere(numel * ITEMSIZE[dtype])
        assert held(measure(stage, dtype), "parameters", phase) == expected


@pytest.mark.parametrize(("stage", "dtype"), STAGES)
def test_gradients_after_backward(stage: int, dtype: str) -> None:
    """ZeRO-1 and 2 keep views: of a gradient that straddles two partitions, both keep the whole."""
    itemsize = ITEMSIZE[dtype]
    expected = {
        0: everywhere(NUM_PARAMS * itemsize),
        1: largest_gradients(itemsize),
        2: largest_gradients(itemsize),
        3: everywhere(ZERO3_SHARD * itemsize),  # one buffer, from the start
    }[stage]
    assert held(measure(stage, dtype), "gradients", "backward") == expected


@pytest.mark.parametrize(("stage", "dtype"), STAGES)
def test_optimizer_states_include_a_copy_of_the_weights(stage: int, dtype: str) -> None:
    """A copy in fp32 even beside fp32 parameters, from stage 1 on; moments; step counters."""
    numel = {0: NUM_PARAMS, 1: SHARD, 2: SHARD, 3: ZERO3_SHARD}[stage]
    has_copy = stage > 0 or dtype == "bfloat16"
    counters = len(TENSORS) if stage == 0 else 1
    expected = everywhere(numel * (12 if has_copy else 8) + 4 * counters)
    assert held(measure(stage, dtype), "optimizer", "step") == expected


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_zero3_keeps_gathered_parameters_once_it_knows_the_order_of_modules(dtype: str) -> None:
    """After the first step: few enough are alive to stay until backward uses them again."""
    memory = measure(3, dtype)
    assert held(memory, "unsharded", "init") == everywhere(0)
    assert held(memory, "unsharded", "forward", step=0) == everywhere(0)
    whole = everywhere(NUM_PARAMS * ITEMSIZE[dtype])
    assert held(memory, "unsharded", "forward", step=1) == whole


def test_zero3_shows_its_reduce_bucket_and_its_padding() -> None:
    memory = measure(3, "float32")
    bucket = 500 * 4  # and perhaps, in gloo's thread, what was broadcast last
    assert all(bucket <= nbytes < bucket + 404 for nbytes in held(memory, "buffers", "init"))
    padding = [memory.at("step", rank).facts.parameters_padding for rank in range(WORLD_SIZE)]
    assert sum(padding) == (WORLD_SIZE * ZERO3_SHARD - NUM_PARAMS) * 4


def test_the_comparison_names_the_copy_of_fp32_weights_beside_fp32_parameters() -> None:
    memory = measure(1, "float32")
    row = memory.compare(sandbox.model_states(NUM_PARAMS, WORLD_SIZE, 1))["optimizer"]
    assert row.reasons == (
        "4 B are step counters, scalars of 4 B",
        f"{SHARD * 4} B are a copy of the weights beside the moments",
    )
    told = sandbox.model_states(NUM_PARAMS, WORLD_SIZE, 1, master_weights=True, alignment=2)
    assert memory.compare(told)["optimizer"].gap == 4
