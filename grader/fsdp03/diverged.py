"""A run that diverges, on real ranks, with the norm of every gradient before it is averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from sandbox import toys

NUM_STEPS = 6
SAMPLES_PER_RANK = 2


class GradientRecord(NamedTuple):
    """The norm of one parameter's gradient on one rank, as backward gave it, before averaging."""

    step: int
    rank: int
    layer: str
    norm: float


@dataclass(frozen=True)
class Fault:
    """What goes wrong, once: one number of a module's output gradient, on one rank."""

    step: int
    rank: int
    module: str  # "blocks.1.feed_forward"
    layer: str  # its parameter whose gradient backward computes first
    value: float  # inf or NaN
    world_size: int = 4

    @property
    def culprit(self) -> tuple[int, int, str]:
        """Return the place that is to be found: (step, rank, layer)."""
        return self.step, self.rank, self.layer


def record_run(fault: Fault) -> list[GradientRecord]:
    """Train with averaged gradients; return this rank's records in the order of backward.

    Collective: every rank must call this.
    """
    rank = dist.get_rank()
    model = toys.Transformer(num_blocks=4).to(sandbox.device())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    records: list[GradientRecord] = []
    is_faulty = [False]
    step = 0

    def watch(name: str, weight: nn.Parameter) -> None:
        def note(gradient: Tensor) -> None:
            layer = name.removesuffix(".weight")
            records.append(GradientRecord(step, rank, layer, gradient.norm().item()))

        weight.register_hook(note)

    def spoil_gradient(gradient: Tensor) -> Tensor:
        spoiled = gradient.clone()
        spoiled.view(-1)[0] = fault.value
        return spoiled

    def spoil(module: nn.Module, args: Any, output: Tensor) -> None:
        if is_faulty[0]:
            output.register_hook(spoil_gradient)

    for name, weight in model.named_parameters():
        watch(name, weight)
    model.get_submodule(fault.module).register_forward_hook(spoil)
    for step in range(NUM_STEPS):
        is_faulty[0] = (step, rank) == (fault.step, fault.rank)
        first = (step * dist.get_world_size() + rank) * SAMPLES_PER_RANK
        tokens = toys.token_samples(range(first, first + SAMPLES_PER_RANK)).to(sandbox.device())
        optimizer.zero_grad()
        toys.next_token_loss(model(tokens), tokens).backward()
        average_gradients(list(model.parameters()))
        optimizer.step()
    return records


def average_gradients(weights: Sequence[nn.Parameter]) -> None:
    """Average the gradients over all ranks, in one all_reduce. Collective: every rank."""
    flat = torch.cat([weight.grad.flatten() for weight in weights if weight.grad is not None])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    parts = flat.split([weight.numel() for weight in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.grad = part.view_as(weight)


def diverging_run() -> list[GradientRecord]:
    """Train on 4 ranks a model that diverges; return the records, rank after rank."""
    fault = Fault(3, 2, "blocks.1.feed_forward", "blocks.1.feed_forward.down", torch.inf)
    run = sandbox.launch(record_run, fault, world_size=fault.world_size)
    return [record for records in run.results for record in records]
