"""What FSDP2, FSDP1 and DDP send in a training step equals the formulas, padding included."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import sandbox
from sandbox import Ledger, Op


class Net(nn.Module):
    """Blocks of a hidden size that nothing divides, and a head that is the root's own."""

    def __init__(self, dim: int, num_blocks: int, num_classes: int, dtype: torch.dtype) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": False, "dtype": dtype}
        self.blocks = nn.ModuleList(nn.Linear(dim, dim, **options) for _ in range(num_blocks))
        self.head = nn.Linear(dim, num_classes, **options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x).relu()
        return self.head(x)


def step(model: nn.Module, dim: int, dtype: torch.dtype) -> None:
    model(torch.ones(2, dim, dtype=dtype)).float().sum().backward()


def padded_bytes(rows: int, columns: int, world_size: int, dtype: torch.dtype) -> int:
    """What all ranks' shards take together: each is as long as the longest."""
    return math.ceil(rows / world_size) * world_size * columns * dtype.itemsize


# -- FSDP2 ------------------------------------------------------------------------------------


def step_fsdp2(
    dim: int,
    num_blocks: int,
    num_classes: int,
    dtype: torch.dtype,
    mesh_shape: tuple[int, ...],
    reshard: tuple[bool, bool | None],
) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    names = ("replicate", "shard")[-len(mesh_shape) :]
    mesh = init_device_mesh("cpu", mesh_shape, mesh_dim_names=names)
    model = Net(dim, num_blocks, num_classes, dtype)
    blocks, root = reshard
    for block in model.blocks:
        fully_shard(block, mesh=mesh, reshard_after_forward=blocks)
    fully_shard(model, mesh=mesh, reshard_after_forward=root)
    step(model, dim, dtype)


@settings(max_examples=12, deadline=None)
@given(
    world_size=st.integers(1, 6),
    dim=st.integers(1, 9),
    num_blocks=st.integers(1, 3),
    num_classes=st.integers(1, 7),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    reshard=st.sampled_from([(True, None), (False, None), (True, True)]),
)
def test_fsdp2_sends_its_padded_shards(
    world_size: int,
    dim: int,
    num_blocks: int,
    num_classes: int,
    dtype: torch.dtype,
    reshard: tuple[bool, bool | None],
) -> None:
    args = (dim, num_blocks, num_classes, dtype, (world_size,), reshard)
    ledger = sandbox.launch(step_fsdp2, *args, world_size=world_size).ledger
    if world_size == 1:
        assert len(ledger) == 0
        return
    root = padded_bytes(num_classes, dim, world_size, dtype)
    blocks = num_blocks * padded_bytes(dim, dim, world_size, dtype)
    # A unit is gathered in forward, again in backward if it was resharded, and reduced once.
    # "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", sec. 7: 3 Ψ in all,
    # 2 Ψ for what stays gathered.
    passes_root = 3 if reshard[1] else 2
    passes_blocks = 3 if reshard[0] else 2
    expected = (passes_root * root + passes_blocks * blocks) * (world_size - 1) / world_size
    for rank in range(world_size):
        assert ledger.sent_bytes(rank) == pytest.approx(expected, rel=1e-12)
    assert {event.dtype for event in ledger} == {str(dtype).removeprefix("torch.")}


@pytest.mark.parametrize("mesh_shape", [(2, 2), (3, 2), (2, 3)])
def test_hybrid_shard_adds_an_all_reduce_of_the_shards(mesh_shape: tuple[int, int]) -> None:
    num_replicas, num_shards = mesh_shape
    world_size = num_replicas * num_shards
    args = (5, 2, 3, torch.float32, mesh_shape, (True, None))
    ledger = sandbox.launch(step_fsdp2, *args, world_size=world_size).ledger
    root = padded_bytes(3, 5, num_shards, torch.float32)
    blocks = 2 * padded_bytes(5, 5, num_shards, torch.float32)
    within = (2 * root + 3 * blocks) * (num_shards - 1) / num_shards
    across = 2 * (root + blocks) / num_shards * (num_replicas - 1) / num_replicas
    for rank in range(world_size):
        assert ledger.sent_bytes(rank) == pytest.approx(within + across, rel=1e-12)


def test_bf16_compute_with_fp32_reduce_halves_the_gathers_alone() -> None:
    def run_step(policy: dict[str, torch.dtype]) -> None:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        model = Net(6, 2, 3, torch.float32)
        for module in (*model.blocks, model):
            fully_shard(module, mp_policy=MixedPrecisionPolicy(**policy))
        step(model, 6, torch.float32)

    def gathered_and_reduced(ledger: Ledger) -> tuple[float, float]:
        return tuple(ledger.where(op=op).sent_bytes(0) for op in (Op.ALL_GATHER, Op.REDUCE_SCATTER))

    plain = sandbox.launch(run_step, {}, world_size=3).ledger
    policy = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}
    mixed = sandbox.launch(run_step, policy, world_size=3).ledger
    gathered, reduced = gathered_and_reduced(plain)
    assert gathered_and_reduced(mixed) == (gathered / 2, reduced)


# -- FSDP1 and DDP ------------------------------------------------------------------------------


def step_fsdp1(strategy: str) -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    model = FullyShardedDataParallel(
        Net(7, 2, 3, torch.float32),
        auto_wrap_policy=ModuleWrapPolicy({nn.Linear}),
        sharding_strategy=ShardingStrategy[strategy],
        device_id=torch.device("cpu"),
    )
    step(model, 7, torch.float32)


@pytest.mark.parametrize(("strategy", "num_passes"), [("FULL_SHARD", 3), ("SHARD_GRAD_OP", 2)])
@pytest.mark.parametrize("world_size", [2, 3, 4])
def test_fsdp1_sends_its_padded_flat_parameters(
    strategy: str, num_passes: int, world_size: int
) -> None:
    ledger = sandbox.launch(step_fsdp1, strategy, world_size=world_size).ledger
    numels = (7 * 7, 7 * 7, 7 * 3)  # FSDP1 pads the flat parameter of a unit, not its rows
    padded = sum(math.ceil(numel / world_size) * world_size for numel in numels)
    expected = num_passes * padded * 4 * (world_size - 1) / world_size
    for rank in range(world_size):
        assert ledger.sent_bytes(rank) == pytest.approx(expected, rel=1e-12)


def step_ddp(sizes: Sequence[int], dtype: torch.dtype, bucket_mb: float) -> None:
    layers = [nn.Linear(a, b, dtype=dtype) for a, b in itertools.pairwise(sizes)]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=bucket_mb)
    step(model, sizes[0], dtype)


@settings(max_examples=8, deadline=None)
@given(
    world_size=st.integers(1, 6),
    sizes=st.lists(st.integers(1, 9), min_size=2, max_size=5),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    bucket_mb=st.sampled_from([25.0, 1e-4]),
)
def test_ddp_all_reduces_every_gradient_once(
    world_size: int, sizes: list[int], dtype: torch.dtype, bucket_mb: float
) -> None:
    ledger = sandbox.launch(step_ddp, sizes, dtype, bucket_mb, world_size=world_size).ledger
    numel = sum(a * b + b for a, b in itertools.pairwise(sizes))
    # 2 Ψ (N - 1) / N however it is cut into buckets; Patarasuk and Yuan 2009, sec. 3.
    expected = 2 * numel * dtype.itemsize * (world_size - 1) / world_size
    for rank in range(world_size):
        sent = ledger.where(op=Op.ALL_REDUCE).sent_bytes(rank)
        assert sent == pytest.approx(expected, rel=1e-12)
