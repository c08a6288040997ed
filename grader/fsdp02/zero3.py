"""Step 5: ZeRO-3, a whole model whose parameters, gradients and states are all partitioned."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

import sandbox
from grader.cases import CASES, Case
from grader.fsdp02 import judge_training as judges
from grader.fsdp02.exercise import Check
from grader.fsdp02.training import (
    LEARNING_RATE,
    Layout,
    Seen,
    describe_pair,
    layout_of,
    observe_steps,
    truths_of,
)
from grader.held import live_storages
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.memory.category import Category
from sandbox.memory.history import Memory

Init = Callable[[nn.Module, float], tuple[list[Any], torch.optim.Optimizer]]
NUM_MICRO_BATCHES = 2


def check_zero3(zero3_init: Init) -> None:
    """Judge `zero3_init(model, lr) -> (flats, optimizer)` by training on 1 to 4 ranks."""
    proof = (
        "between steps a rank holds 1 / N of parameters, gradients and states, to the byte; each\n"
        "  step equals one-process AdamW to 1e-12: on 1, 2, 3 and 4 ranks"
    )
    with Check("zero3", proof, zero3_init) as check:
        for case in CASES:
            run = check.launch(
                observe, zero3_init, case, world_size=case.world_size, memory=True, case=case.text
            )
            seen = run.results
            check.judge(judges.judge_returned(seen, "(flats, optimizer)"))
            layout = seen[0].layout
            # First: the optimizer can only be judged by flat parameters that are all there.
            check.judge(judge_units(layout, case))
            check.judge(judges.judge_layouts(seen))
            check.judge(judges.judge_numbers(seen, truths_of(case, NUM_MICRO_BATCHES), case))
            check.judge(judge_parameters(run.memory, case.world_size))
            check.judge(judges.judge_gradient_bytes(run.memory, layout, case.world_size))
            # The optimizer's own copy of the shards is the one that counts: there is no other.
            check.judge(judges.judge_moments(run.memory, layout, case.world_size, copies=1))
            expected = expected_traffic(layout)
            check.judge(judges.judge_traffic(run.ledger, case.world_size, expected))
            check.judge(judges.judge_copies(seen, layout))


def observe(zero3_init: Init, case: Case) -> Seen:
    """Shard a model, and train some steps with it if each parameter lies where it may."""
    before = live_storages()
    model = case.new_model().to(sandbox.device())
    pair = zero3_init(model, LEARNING_RATE)
    if returned := describe_pair(pair, "flats"):
        return Seen(returned)
    flats, optimizer = pair
    layout = layout_of(flats, optimizer, model)
    if judge_units(layout, case) or layout.num_others_held or layout.num_shards_missing:
        return Seen("", layout)

    def step() -> None:
        optimizer.step()
        optimizer.zero_grad()

    return observe_steps(model, flats, optimizer, step, case, before, NUM_MICRO_BATCHES)


def judge_units(layout: Layout, case: Case) -> Failure | None:
    """Judge that each parameter is in one flat tensor, with others of its block and kind."""
    model = case.new_model()
    holders = Counter(name for names in layout.names for name in names)
    for name, _ in model.named_parameters():
        if holders[name] != 1:
            return Failure(
                mistake=Mistake.PARAMETERS_LOST,
                expected=f"'{name}' in one flat tensor",
                came=f"in {holders[name]}",
            )
    for names in layout.names:
        if len({name in case.frozen for name in names}) > 1:
            return Failure(
                mistake=Mistake.FROZEN_WITH_TRAINED,
                expected="flat tensors of trained or of frozen parameters",
                came=f"one with '{names[0]}' and '{_other_kind(names, case)}'",
            )
        if len({_unit(name) for name in names}) > 1:
            return Failure(
                mistake=Mistake.UNIT_TOO_LARGE,
                expected="each block's parameters in flat tensors of their own",
                came=f"one with '{names[0]}' and '{names[-1]}'",
            )
    return None


def _other_kind(names: Sequence[str], case: Case) -> str:
    is_frozen = names[0] in case.frozen
    return next(name for name in names if (name in case.frozen) != is_frozen)


def _unit(name: str) -> str:
    return ".".join(name.split(".")[:2]) if name.startswith("blocks.") else ""


def judge_parameters(memory: Memory, world_size: int) -> Failure | None:
    """Judge that after forward and after backward no parameter is whole."""
    for rank in range(world_size):
        for phase in ("loss", "backward"):
            held = memory.at(phase, rank).bytes[Category.PARAMETERS] or 0
            if held:
                return Failure(
                    mistake=Mistake.PARAMETERS_NOT_RELEASED,
                    expected=f"no parameter left whole after {phase}",
                    came=f"{held:,} bytes",
                    where=f"rank {rank}",
                )
    return None


def expected_traffic(layout: Layout) -> dict[str, int]:
    """Return the elements of a step: per backward two gathers of all, one reduce of the trained."""
    return {
        "all_gather": 2 * NUM_MICRO_BATCHES * sum(layout.numels),
        "reduce_scatter": NUM_MICRO_BATCHES * sum(layout.trained_numels),
    }
