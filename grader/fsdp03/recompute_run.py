"""Run a step of a model under several ways of checkpointing; see what is kept and recomputed."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.utils.flop_counter import FlopCounterMode

import sandbox
from grader.cases import SAMPLES_PER_RANK, Case, new_mesh
from grader.shards import Shard, shards_of
from sandbox import toys
from sandbox.memory.category import Category, Phase
from sandbox.run import Run

Apply = Callable[[toys.Transformer], nn.Module]


@dataclass(frozen=True)
class Recomputed:
    """What one rank saw of one step: what ran again in backward, FLOPs, and the gradients."""

    returned: str
    recomputed: Counter[str] = field(default_factory=Counter)  # watched modules, in backward
    has_autograd: bool = True  # whether every block's forward ran with autograd on
    forward_flops: int = 0
    backward_flops: int = 0
    gradients: dict[str, Shard] = field(default_factory=dict)


def observe_steps(
    applies: Sequence[Apply], case: Case, seq_len: int = 12, counts_flops: bool = True
) -> list[Recomputed]:
    """Run one step per way of checkpointing, each on a new model, with the same random numbers.

    An optimizer's step that moves nothing ends each: the samples of memory are told apart by it.
    Where the peak is to be measured, FLOPs are not: FlopCounterMode keeps tensors alive.
    """
    own = range(SAMPLES_PER_RANK * dist.get_rank(), SAMPLES_PER_RANK * (dist.get_rank() + 1))
    vocab_size = case.model.get("vocab_size", 61)
    tokens = toys.token_samples(own, seq_len=seq_len, vocab_size=vocab_size, seed=case.data_seed)
    tokens = tokens.to(sandbox.device())
    return [_observe_step(apply, case, tokens, counts_flops) for apply in applies]


def _observe_step(apply: Apply, case: Case, tokens: Tensor, counts_flops: bool) -> Recomputed:
    given = case.new_model()
    calls: Counter[str] = Counter()
    autograd: list[bool] = []

    def watch(name: str, module: nn.Module) -> None:
        def note(*_: object) -> None:
            calls[name] += 1
            autograd.append(torch.is_grad_enabled())

        module.register_forward_pre_hook(note)

    for number in range(len(given.blocks)):
        watch(f"block {number}", given.get_submodule(f"blocks.{number}.attention.query"))
    watch("the norm", given.norm)
    model = apply(given)
    if not isinstance(model, nn.Module):
        return Recomputed(returned=type(model).__name__)
    _shard(model, given)
    torch.manual_seed(dist.get_rank())
    forward, backward = FlopCounterMode(display=False), FlopCounterMode(display=False)
    with forward if counts_flops else contextlib.nullcontext():
        loss = toys.next_token_loss(model(tokens), tokens)
    has_autograd = all(autograd)
    calls.clear()
    with backward if counts_flops else contextlib.nullcontext():
        loss.backward()
    gradients = shards_of((name, weight.grad) for name, weight in model.named_parameters())
    torch.optim.SGD(model.parameters(), lr=0.0).step()
    flops = forward.get_total_flops(), backward.get_total_flops()
    return Recomputed("Module", calls, has_autograd, *flops, gradients)


def _shard(model: nn.Module, given: toys.Transformer) -> None:
    mesh = new_mesh()
    for block in given.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)


def activations_by_step(run: Run, num_steps: int) -> list[int]:
    """Return the bytes of activations at the end of each step's forward, on rank 0."""
    samples = [run.memory.at(Phase.FORWARD, 0, step) for step in range(num_steps)]
    return [sample.bytes[Category.ACTIVATIONS] or 0 for sample in samples]
