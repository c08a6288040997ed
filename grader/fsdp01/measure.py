"""Measure what one training step sends: the ledger's bytes, for any way of wrapping a model."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

import sandbox
from grader import explain, verdict
from grader.cases import new_mesh
from sandbox import toys
from sandbox.ledger import Ledger

Prepare = Callable[[toys.Transformer, DeviceMesh], nn.Module]


def run_steps(strategies: Sequence[Prepare], model_options: dict[str, Any]) -> None:
    """For each strategy, wrap a model and run one forward and backward between two marks."""
    vocab_size = model_options.get("vocab_size", 61)
    tokens = toys.token_samples([dist.get_rank()], vocab_size=vocab_size).to(sandbox.device())
    for prepare in strategies:
        # On its device: fully_shard would move it there, DistributedDataParallel does not.
        model = prepare(toys.Transformer(**model_options).to(sandbox.device()), new_mesh())
        sandbox.mark("step")
        toys.next_token_loss(model(tokens), tokens).backward()
        sandbox.mark("end")


def events_of_steps(ledger: Ledger, num_strategies: int, rank: int = 0) -> list[Ledger]:
    """Return what one rank issued between the marks of each strategy's step."""
    return ledger.phases(rank)[-2 * num_strategies :: 2]


@explain.telling_stubs("measure")
def measure(strategies: Mapping[str, Prepare], world_size: int = 4) -> None:
    """Print, for each strategy, the collectives of one step and the bytes that a rank sends.

    A strategy is a function (model, mesh) -> wrapped model; it runs on `world_size` fresh ranks.
    """
    run = sandbox.launch(run_steps, list(strategies.values()), {}, world_size=world_size)
    for name, step in zip(strategies, events_of_steps(run.ledger, len(strategies)), strict=True):
        ops = Counter(event.op.value for event in step)
        counts = ", ".join(f"{count} {op}" for op, count in sorted(ops.items()))
        sent = step.sent_bytes(rank=0)
        verdict.show(f"{name:22}{sent:>10,.0f} bytes sent by each rank: {counts}")
