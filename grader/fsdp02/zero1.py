"""Step 2: ZeRO-1, where each rank's AdamW knows its own partition alone."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

import sandbox
from grader.cases import CASES, Case
from grader.fsdp02 import judge_training as judges
from grader.fsdp02.exercise import Check
from grader.fsdp02.training import LEARNING_RATE, Seen, describe_pair, observe_steps, truths_of
from grader.held import live_storages
from sandbox.run import Run

Init = Callable[[Iterable[nn.Parameter], float], tuple[Any, torch.optim.Optimizer]]
Step = Callable[[Any, torch.optim.Optimizer], None]


def check_zero1(zero1_init: Init, zero1_step: Step) -> None:
    """Judge the pair `zero1_init(parameters, lr)`, `zero1_step(flat, optimizer)`."""
    proof = (
        "weights equal one-process AdamW to 1e-12 after 3 steps; a rank holds the moments of its\n"
        "  own partition and of nothing else: on 1, 2, 3 and 4 ranks"
    )
    with Check("zero1", proof, zero1_init, zero1_step) as check:
        for case in CASES:
            run = check.launch(
                observe,
                zero1_init,
                zero1_step,
                case,
                world_size=case.world_size,
                memory=True,
                case=case.text,
            )
            check.judge(judges.judge_returned(run.results, "(flat, optimizer)"))
            check.judge(judges.judge_layouts(run.results))
            _judge(check, run, case)


def observe(zero1_init: Init, zero1_step: Step, case: Case) -> Seen:
    """Train some steps by hand on this rank's samples."""
    before = live_storages()
    model = case.new_model().to(sandbox.device())
    # Once through, as model.parameters() is in the notebook.
    pair = zero1_init((p for p in model.parameters() if p.requires_grad), LEARNING_RATE)
    if returned := describe_pair(pair, "flat"):
        return Seen(returned)
    flat, optimizer = pair
    step = functools.partial(zero1_step, flat, optimizer)
    return observe_steps(model, [flat], optimizer, step, case, before)


def _judge(check: Check, run: Run, case: Case) -> None:
    layout = run.results[0].layout
    numel = sum(layout.numels)
    check.judge(judges.judge_numbers(run.results, truths_of(case), case))
    check.judge(judges.judge_moments(run.memory, layout, case.world_size, copies=1))
    expected = {"reduce_scatter": numel, "all_gather": numel}
    check.judge(judges.judge_traffic(run.ledger, case.world_size, expected, may_all_reduce=True))
    check.judge(judges.judge_gradients_freed(run.memory, layout, case.world_size))
    check.judge(judges.judge_copies(run.results, layout, may_keep_whole=True))
