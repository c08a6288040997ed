"""What ranks do in the tests on GPUs; all but the snapshot can be tried on gloo."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import sandbox
from grader.held import live_storages
from sandbox import backend, toys

# 2.4 million parameters: what the allocator rounds up, and padding, are small beside them.
MODEL = {"vocab_size": 512, "dim": 256, "num_heads": 4, "hidden_dim": 1024, "num_blocks": 2}


def new_training() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """Return a sharded model and its AdamW."""
    mesh = init_device_mesh(sandbox.device().type, (dist.get_world_size(),))
    model = toys.Transformer(**MODEL)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters())


def new_tokens() -> torch.Tensor:
    return toys.token_samples([dist.get_rank()], vocab_size=512).to(sandbox.device())


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, tokens: torch.Tensor) -> float:
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def train() -> list[float]:
    """Train three steps; return their losses."""
    model, optimizer = new_training()
    tokens = new_tokens()
    return [step(model, optimizer, tokens) for _ in range(3)]


def count_or_stop() -> int:
    """Return how many GPUs there are; without one the tests end, for they were asked for."""
    found = backend.count_gpus() if backend.has_nvidia_driver() else 0
    if not found:
        pytest.exit(
            "these tests need a GPU, and there is none; `python -m sandbox doctor` says more. "
            "Leave them out with -m 'not gpu'.",
            returncode=1,
        )
    return found


def live_bytes() -> int:
    """Return the bytes of all live tensors: what stands for the allocator's count on the CPU."""
    return sum(live_storages().values())


def measure_states(count: Callable[[], int] = backend.allocated_bytes) -> tuple[int, int, int]:
    """Return (parameters of the model, bytes of them held here, bytes that a step adds to stay)."""
    tokens = new_tokens()
    _warm_up()
    before = count()
    model, optimizer = new_training()
    sharded = count()
    step(model, optimizer, tokens)
    after = count()
    num_params = sum(parameter.numel() for parameter in model.parameters())
    return num_params, sharded - before, after - sharded


def worst_gap(measured: Sequence[tuple[int, int, int]]) -> float:
    """Return how far parameters and optimizer states are from the formula's, of 1.

    The fullest rank's, and all ranks' together: where rows do not divide, the last holds fewer.
    """
    (num_params, *_), *_ = measured
    states = sandbox.model_states(num_params, len(measured), stage=3)
    gaps = []
    for place, expected in ((1, states.parameters), (2, states.optimizer)):
        held = [rank[place] for rank in measured]
        gaps += [max(held) / expected - 1, sum(held) / len(held) / expected - 1]
    return max(map(abs, gaps))


def _warm_up() -> None:
    """Multiply, forward and backward: each thread's first time takes memory that stays."""
    weight = torch.ones(8, 8, device=sandbox.device(), requires_grad=True)
    (weight @ weight).sum().backward()


def save_trace(folder: str) -> str:
    """Profile three steps; return where this rank's trace is."""
    path = os.path.join(folder, f"trace-{dist.get_rank()}.json")
    with torch.profiler.profile() as profiler:
        train()
    profiler.export_chrome_trace(path)
    return path


def save_snapshot(folder: str) -> str:
    """Record the allocator during three steps; return where this rank's snapshot is."""
    path = os.path.join(folder, f"snapshot-{dist.get_rank()}.pickle")
    torch.cuda.memory._record_memory_history(stacks="python")  # C++ frames take minutes to name
    train()
    torch.cuda.memory._dump_snapshot(path)
    return path
