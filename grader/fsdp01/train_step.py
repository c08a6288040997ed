"""Step 5: one training step on a slice of the batch, equal to one process on all of it."""

from collections.abc import Callable
from dataclasses import replace

import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from grader import explain
from grader.cases import CASES, LEARNING_RATE, Case, new_sharded
from grader.fsdp01.exercise import Check
from grader.judge_step import StepSeen, judge_any_clipping, judge_steps
from grader.mistakes import Mistake
from grader.plain import as_plain
from grader.shards import Shard, shards_of
from grader.step_hook import record_gradients
from grader.truth import Clipping, train
from grader.verdict import Failure
from sandbox.errors import CollectiveMismatchError
from sandbox.event import Op

TrainStep = Callable[[nn.Module, torch.optim.Optimizer, Tensor, float], tuple[float, float]]
# (max_norm, steps). First nothing is clipped: what reaches the optimizer is then the gradient
# before clipping, and its second step shows what the first one left behind.
ROUNDS = ((1e9, 2), (0.5, 1))


def check_train_step(train_step: TrainStep) -> None:
    """Judge `train_step(model, optimizer, tokens, max_norm) -> (loss, grad_norm)`."""
    proof = (
        "loss, norm, every gradient before clipping and every weight after the step equal the\n"
        "  one-process run to 1e-12, on 1, 2, 3 and 4 ranks, clipped and not"
    )
    with Check("train_step", proof, train_step) as check:
        for case in CASES:
            try:
                run = check.launch(
                    observe, train_step, case, world_size=case.world_size, case=case.text
                )
            except CollectiveMismatchError as error:
                check.judge(_judge_mismatch(error))
                raise
            for number, (max_norm, num_steps) in enumerate(ROUNDS):
                seen = [rounds[number] for rounds in run.results]
                check.judge(_judge(seen, case, max_norm, num_steps))


def _judge_mismatch(error: CollectiveMismatchError) -> Failure | None:
    """Name what it is where one all_reduce gets other sizes: those of the ranks' shards."""
    last = {event.rank: event for event in error.run.ledger} if error.run else {}
    calls = {(event.op, event.call_site) for event in last.values()}
    numels = {event.numel for event in last.values()}
    if len(calls) == 1 and Op.ALL_REDUCE in {op for op, _ in calls} and len(numels) > 1:
        return replace(explain.failure_of(error), mistake=Mistake.SHARDS_ALL_REDUCED)
    return None


def observe(train_step: TrainStep, case: Case) -> list[list[StepSeen]]:
    """Run the steps of each round on this rank's slices."""
    return [_observe_steps(train_step, case, *options) for options in ROUNDS]


def _observe_steps(
    train_step: TrainStep, case: Case, max_norm: float, num_steps: int
) -> list[StepSeen]:
    model, optimizer = new_sharded(case)
    arrived: list[dict[str, Shard]] = []

    def record() -> None:
        gradients = ((name, weight.grad) for name, weight in model.named_parameters())
        arrived.append(shards_of(gradients))

    forwarded: list[list[int]] = []

    def record_tokens(_: nn.Module, args: tuple, kwargs: dict) -> None:
        if torch.is_grad_enabled():
            forwarded.extend([*args, *kwargs.values()][0].flatten(0, -2).tolist())

    model.register_forward_pre_hook(record_tokens, with_kwargs=True)
    optimizer.register_step_pre_hook(lambda _, *call: record_gradients(record, *call))
    seen: list[StepSeen] = []
    for step in range(num_steps):
        arrived.clear()
        forwarded.clear()
        tokens = case.tokens(step, dist.get_rank()).to(sandbox.device())
        numbers = _as_numbers(train_step(model, optimizer, tokens, max_norm))
        if isinstance(numbers, str):
            return [*seen, StepSeen(returned=numbers)]
        own = tokens.tolist()
        num_foreign = sum(sample not in own for sample in forwarded)
        weights = shards_of(model.named_parameters())
        seen.append(StepSeen("numbers", *numbers, list(arrived), weights, num_foreign))
    return seen


def _as_numbers(answer: object) -> tuple[float, float] | str:
    """Return (loss, grad_norm) as plain floats, or what came instead."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return type(answer).__name__
    loss, grad_norm = map(as_plain, answer)
    if isinstance(loss, str) or isinstance(grad_norm, str):
        return f"({', '.join(type(number).__name__ for number in answer)})"
    return float(loss), float(grad_norm)


def _judge(
    seen: list[list[StepSeen]], case: Case, max_norm: float, num_steps: int
) -> Failure | None:
    batches = [case.global_tokens(step) for step in range(num_steps)]

    def judge(clipping: Clipping) -> Failure | None:
        truths = train(case.new_model(), LEARNING_RATE, batches, max_norm, clipping)
        return judge_steps(seen, truths, max_norm)

    return judge_any_clipping(judge)
