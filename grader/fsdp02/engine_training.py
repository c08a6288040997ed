"""Step 9: training with DeepSpeed's engine, equal to one process on the whole batch."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

import sandbox
from grader.cases import Case
from grader.fsdp02.engines import (
    ACCUMULATION_STEPS,
    CASES,
    NUM_STEPS,
    judge_weights,
    micro_batches,
    new_config,
    truths_of,
)
from grader.fsdp02.exercise import Check
from grader.mistakes import Mistake
from grader.plain import as_plain
from grader.shards import gathered
from grader.truth import StepTruth
from grader.verdict import Failure

Train = Callable[[nn.Module, dict[str, Any], Iterable[Tensor]], tuple[Any, list[float]]]


@dataclass(frozen=True)
class Seen:
    """What one rank saw after training: the losses, and what the engine says and holds."""

    returned: str = ""
    losses: list[Any] = field(default_factory=list)
    num_steps: int = 0
    grad_norm: float = 0.0  # of the last step, before clipping
    weights: dict[str, Tensor] = field(default_factory=dict)


def check_train(train: Train) -> None:
    """Judge `train(model, config, micro_batches) -> (engine, losses)` at stages 1, 2 and 3."""
    proof = (
        "losses, steps, the gradient's norm and weights equal one process on the whole batch, up\n"
        "  to float32's rounding: ZeRO-1, 2 and 3, with gradient accumulation and clipping"
    )
    with Check("train", proof, train) as check:
        for stage, case in CASES:
            text = f"ZeRO-{stage}, {case.text}"
            run = check.launch(observe, train, stage, case, world_size=case.world_size, case=text)
            check.judge(judge(run.results, case))


def observe(train: Train, stage: int, case: Case) -> Seen:
    """Train two steps of two micro-batches each."""
    model = case.new_model()
    tokens = [batch.to(sandbox.device()) for batch in micro_batches(case, NUM_STEPS)]
    answer = train(model, new_config(stage, case.world_size), iter(tokens))
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return Seen("None" if answer is None else type(answer).__name__)
    engine, losses = answer
    if not hasattr(engine, "global_steps") or not isinstance(losses, list | tuple):
        return Seen(f"({type(engine).__name__}, {type(losses).__name__})")
    norm = engine.get_global_grad_norm()
    return Seen(
        returned="pair",
        losses=[as_plain(loss) for loss in losses],
        num_steps=engine.global_steps,
        grad_norm=float("nan") if norm is None else float(norm),
        weights=gathered(model),
    )


def judge(seen: Sequence[Seen], case: Case) -> Failure | None:
    """Judge what was returned, the number of steps, and the numbers, in this order."""
    truths = truths_of(case, NUM_STEPS)
    for observation in seen:
        failure = _judge_returned(observation) or _judge_steps(observation)
        if failure:
            return failure
    if failure := _judge_losses(seen, truths):
        return failure
    came, expected = seen[0].grad_norm, truths[-1].grad_norm
    if not abs(came - expected) <= 1e-4 * expected:
        scaled = abs(came * ACCUMULATION_STEPS - expected) <= 1e-4 * expected
        return Failure(
            mistake=Mistake.LOSS_SCALED_TWICE if scaled else Mistake.ENGINE_BYPASSED,
            expected=f"gradient norm {expected:.6g} in the last step",
            came=f"{came:.6g}",
            where="every rank",
        )
    return judge_weights(
        [observation.weights for observation in seen],
        truths[-1].weights,
        Mistake.WRONG_WEIGHTS,
        next_step="let the engine step, and change no weight yourself",
    )


def _judge_returned(observation: Seen) -> Failure | None:
    num_micro_batches = NUM_STEPS * ACCUMULATION_STEPS
    expected = f"(engine, {num_micro_batches} losses)"
    if observation.returned != "pair":
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=observation.returned)
    wrong = [loss for loss in observation.losses if not isinstance(loss, int | float)]
    if wrong:
        came = f"losses that are {wrong[0]}s"
        return Failure(mistake=Mistake.NOT_A_NUMBER, expected=expected, came=came)
    if len(observation.losses) != num_micro_batches:
        came = f"{len(observation.losses)} losses"
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=came)
    return None


def _judge_steps(observation: Seen) -> Failure | None:
    if observation.num_steps == NUM_STEPS:
        return None
    return Failure(
        mistake=Mistake.ENGINE_STEP_SKIPPED,
        expected=f"{NUM_STEPS} steps of the engine after {NUM_STEPS * ACCUMULATION_STEPS} "
        "micro-batches",
        came=f"{observation.num_steps}",
    )


def _judge_losses(seen: Sequence[Seen], truths: Sequence[StepTruth]) -> Failure | None:
    """Judge the mean loss of the ranks in each step: their own samples, before the step."""
    for step, truth in enumerate(truths):
        part = slice(step * ACCUMULATION_STEPS, (step + 1) * ACCUMULATION_STEPS)
        losses = [loss for observation in seen for loss in observation.losses[part]]
        mean = sum(losses) / len(losses)
        if abs(mean - truth.loss) > 1e-4:
            return Failure(
                mistake=Mistake.ENGINE_BYPASSED,
                expected=f"mean loss {truth.loss:.6g} in step {step}",
                came=f"{mean:.6g}",
                where="all ranks",
            )
    return None
