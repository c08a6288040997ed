"""Measure ways of checkpointing side by side: bytes kept, the peak, FLOPs of backward."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

import sandbox
from grader import explain, verdict
from grader.cases import Case
from grader.fsdp03.checkpointing import (
    MATMULS,
    PROJECTIONS,
    checkpoint_every,
    keep_all,
    keep_operators,
    with_blocks,
)
from grader.fsdp03.recompute_run import Apply, activations_by_step, observe_steps
from sandbox import toys
from sandbox.run import Run
from sandbox.units import format_bytes

Policies = dict[str, tuple[int, int]]  # name -> (bytes kept, FLOPs recomputed), of one block


WAYS: dict[str, Apply] = {
    "keep all": keep_all,
    "keep matmuls": functools.partial(keep_operators, kept=MATMULS),
    "keep projections": functools.partial(keep_operators, kept=PROJECTIONS),
    "recompute all": checkpoint_every,
}


@explain.telling_stubs("measure")
def measure(ways: Mapping[str, Apply], *, seq_len: int = 64, world_size: int = 2) -> None:
    """Print, for each way of checkpointing, what one step of a model with 6 blocks holds and costs.

    A way is a function model -> model; it is applied before the model is sharded.
    """
    case = _new_case(6, world_size)
    counted = _launch(list(ways.values()), case, seq_len, counts_flops=True)
    for number, (name, apply) in enumerate(ways.items()):
        run = _launch([apply], case, seq_len)
        [kept], seen = activations_by_step(run, 1), counted.results[0][number]
        peak = format_bytes(run.memory.peak().total)
        verdict.show(
            f"{name:18}{format_bytes(kept):>8} kept, peak {peak:>8}, "
            f"backward {seen.backward_flops / seen.forward_flops:.2f} × forward"
        )


@explain.telling_stubs("measure_saving")
def measure_saving(
    checkpoint_blocks: Callable[[toys.Transformer, int], nn.Module],
    *,
    depths: Sequence[int] = (1, 2, 8),
    seq_lens: Sequence[int] = (16, 128),
) -> None:
    """Print which part of everything a rank holds at its peak is saved by checkpointing all blocks.

    A row per depth, a column per sequence length.
    """
    verdict.show("blocks  " + "".join(f"{f'length {length}':>14}" for length in seq_lens))
    for depth in depths:
        row = f"{depth:6}  "
        for seq_len in seq_lens:
            peaks = []
            for apply in (keep_all, functools.partial(_call, checkpoint_blocks)):
                run = _launch([apply], _new_case(depth), seq_len)
                peaks.append(run.memory.peak().total)
            row += f"{1 - peaks[1] / peaks[0]:>14.0%}"
        verdict.show(row)


def _new_case(num_blocks: int, world_size: int = 1) -> Case:
    return Case(world_size, {"num_blocks": num_blocks}, dtype=torch.float32)


def _call(checkpoint_blocks: Any, model: toys.Transformer) -> nn.Module:
    return checkpoint_blocks(model, 1)


def _launch(
    applies: Sequence[Apply], case: Case, seq_len: int, *, counts_flops: bool = False
) -> Run:
    """Run a step per way, with FLOPs counted or memory tracked."""
    return sandbox.launch(
        observe_steps,
        list(applies),
        case,
        seq_len,
        counts_flops,
        world_size=case.world_size,
        memory=not counts_flops,
    )


def measure_policies(*, seq_len: int = 64) -> Policies:
    """Return what each policy keeps, in bytes, and recomputes, in FLOPs, for one block.

    Both are measured: the second block of a model minus the first.
    """
    applies = [
        functools.partial(with_blocks, num_blocks=num_blocks, apply=apply)
        for apply in WAYS.values()
        for num_blocks in (1, 2)
    ]
    run = sandbox.launch(observe_steps, applies, _new_case(2), seq_len, world_size=1, memory=True)
    kept = activations_by_step(run, len(applies))
    flops = [seen.backward_flops for seen in run.results[0]]
    added = [
        (kept[first + 1] - kept[first], flops[first + 1] - flops[first])
        for first in range(0, len(applies), 2)
    ]
    return {
        name: (nbytes, flops_of_block - added[0][1])
        for name, (nbytes, flops_of_block) in zip(WAYS, added, strict=True)
    }
