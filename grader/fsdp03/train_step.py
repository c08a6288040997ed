"""Step 7: a step with a loss scale: scaled backward, unscale, clip, step or skip, update."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from grader.cases import CASES, LEARNING_RATE, Case, new_sharded
from grader.fsdp03.exercise import Check
from grader.fsdp03.judge_scaled import ScaledStep, judge_steps
from grader.fsdp03.loss_scaler import as_bool
from grader.judge_step import judge_any_clipping
from grader.shards import Shard, shards_of
from grader.step_hook import record_gradients
from grader.truth import Clipping, train
from grader.verdict import Failure

Scaler = dict[str, Any]
TrainStep = Callable[[nn.Module, torch.optim.Optimizer, Tensor, Scaler, float], bool]

# The max_norm of each round: first no gradient is clipped, then every one is.
ROUNDS = (1e9, 0.5)
NUM_STEPS = 3
OVERFLOWS = (1,)  # the steps in which one rank finds an inf
SCALE, GROWTH_INTERVAL = 1024.0, 2


def check_train_step(train_step: TrainStep) -> None:
    """Judge `train_step(model, optimizer, tokens, scaler, max_norm) -> found_inf`."""
    proof = (
        "every gradient that reaches the optimizer and every weight equal one process without a\n"
        "  scale to 1e-12; all ranks skip where one overflows: on 1, 2, 3 and 4 ranks"
    )
    with Check("train_step", proof, train_step) as check:
        for case in CASES:
            run = check.launch(
                observe, train_step, case, world_size=case.world_size, case=case.text
            )
            for number, max_norm in enumerate(ROUNDS):
                check.judge(_judge([seen[number] for seen in run.results], case, max_norm))


def observe(train_step: TrainStep, case: Case) -> list[list[ScaledStep]]:
    """Run the steps of each round; in one of them one rank's gradients get an inf."""
    return [_observe_steps(train_step, case, max_norm) for max_norm in ROUNDS]


def _observe_steps(train_step: TrainStep, case: Case, max_norm: float) -> list[ScaledStep]:
    model, optimizer = new_sharded(case)
    arrived: list[dict[str, Shard]] = []

    def record() -> None:
        gradients = ((name, weight.grad) for name, weight in model.named_parameters())
        arrived.append(shards_of(gradients))

    optimizer.register_step_pre_hook(lambda _, *call: record_gradients(record, *call))
    scaler = {"scale": SCALE, "num_good_steps": 0, "growth_interval": GROWTH_INTERVAL}
    seen = []
    for step in range(NUM_STEPS):
        arrived.clear()
        before = float(scaler["scale"]), int(scaler["num_good_steps"])
        is_inf_left = not _are_finite(model)
        tokens = case.tokens(step, dist.get_rank()).to(sandbox.device())
        with _inf_after_backward(model, is_planted=step in OVERFLOWS) as after_backward:
            returned = as_bool(train_step(model, optimizer, tokens, scaler, max_norm))
        after = float(scaler["scale"]), int(scaler["num_good_steps"])
        weights = shards_of(model.named_parameters())
        seen.append(
            ScaledStep(returned, before, after, list(arrived), weights, is_inf_left, after_backward)
        )
    return seen


def _are_finite(model: nn.Module) -> bool:
    gradients = shards_of((name, weight.grad) for name, weight in model.named_parameters())
    return all(bool(shard.local.isfinite().all()) for shard in gradients.values())


@contextlib.contextmanager
def _inf_after_backward(model: nn.Module, *, is_planted: bool) -> Iterator[dict[str, Shard]]:
    """Let backward leave an inf in one gradient of rank 1, or of the only rank.

    What is yielded holds the gradients after backward, from before that.
    """
    seen: dict[str, Shard] = {}
    backward = torch.autograd.backward
    is_here = is_planted and dist.get_rank() == 1 % dist.get_world_size()

    def overflowing(*args: Any, **kwargs: Any) -> None:
        backward(*args, **kwargs)
        seen.update(shards_of((name, weight.grad) for name, weight in model.named_parameters()))
        gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
        local = [gradient.to_local() for gradient in gradients]  # type: ignore[attr-defined]
        if is_here:
            next(part for part in local if part.numel()).view(-1)[0] = torch.inf

    torch.autograd.backward = overflowing
    try:
        yield seen
    finally:
        torch.autograd.backward = backward


def _judge(seen: list[list[ScaledStep]], case: Case, max_norm: float) -> Failure | None:
    good = [step for step in range(NUM_STEPS) if step not in OVERFLOWS]
    batches = [case.global_tokens(step) for step in good]

    def judge(clipping: Clipping) -> Failure | None:
        truths = train(case.new_model(), LEARNING_RATE, batches, max_norm, clipping)
        by_step = dict(zip(good, truths, strict=True))
        return judge_steps(seen, by_step, max_norm, GROWTH_INTERVAL)

    return judge_any_clipping(judge)
