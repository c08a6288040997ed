"""Judge steps with a loss scale against one process without one, and name what went wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.fsdp03.judge_scale import Scale, torch_rule
from grader.judge_step import judge_arrived, judge_weights
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.shards import Shard
from grader.truth import StepTruth
from grader.verdict import Failure
from sandbox.failure import count_ranks


@dataclass(frozen=True)
class ScaledStep:
    """What one rank saw of one step; `arrived` holds the gradients at each optimizer.step()."""

    returned: bool | str
    scale_before: Scale
    scale_after: Scale
    arrived: list[dict[str, Shard]]
    weights: dict[str, Shard]
    is_inf_left: bool  # among this rank's gradients, before the step
    after_backward: dict[str, Shard]  # the gradients, before anything else is done to them


def judge_steps(
    seen: Sequence[Sequence[ScaledStep]],
    truths: Mapping[int, StepTruth],
    max_norm: float,
    growth_interval: int,
) -> Failure | None:
    """Judge consecutive steps, `seen[rank][step]`; a step without a truth is to be skipped."""
    for step in range(len(seen[0])):
        ranks = [steps[step] for steps in seen]
        until_now = [truth for number, truth in truths.items() if number <= step]
        if step in truths:
            failure = _judge_good(ranks, until_now, max_norm)
        else:
            failure = _judge_skipped(ranks)
        failure = (
            failure
            or _judge_returned(ranks, step not in truths)
            or judge_weights([rank.weights for rank in ranks], until_now[-1])
            or _judge_scaler(ranks, step not in truths, growth_interval)
        )
        if failure is not None:
            return replace(failure, where=f"{failure.where}, step {step}")
    return None


def _judge_skipped(ranks: Sequence[ScaledStep]) -> Failure | None:
    stepped = [rank for rank, seen in enumerate(ranks) if seen.arrived]
    if not stepped:
        return None
    is_agreed = len(stepped) == len(ranks)
    return Failure(
        mistake=Mistake.STEPPED_ON_INF if is_agreed else Mistake.DIVERGENT_DECISION,
        expected="no optimizer.step(): one rank's gradient is inf",
        came=f"optimizer.step() on {_name_ranks(stepped)}",
        where=count_ranks(len(ranks)),
    )


def _name_ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _judge_good(
    ranks: Sequence[ScaledStep], truths: Sequence[StepTruth], max_norm: float
) -> Failure | None:
    if not any(seen.arrived for seen in ranks):
        is_left = any(seen.is_inf_left for seen in ranks)
        return Failure(
            mistake=Mistake.INF_NOT_CLEARED if is_left else Mistake.SKIPPED_A_GOOD_STEP,
            expected="one optimizer.step()",
            came="none",
            where="every rank",
        )
    unscaled = [seen.after_backward for seen in ranks]
    if ranks[0].scale_before[0] != 1 and find_difference(unscaled, truths[-1].gradients) is None:
        return Failure(
            mistake=Mistake.FP16_NO_SCALER,
            expected=f"after backward, gradients times the scale {ranks[0].scale_before[0]:g}",
            came="the gradients themselves",
            where="every rank",
        )
    failure = judge_arrived([seen.arrived for seen in ranks], truths, max_norm)
    if failure is None:
        return None
    return replace(failure, mistake=_name(ranks, truths[-1], max_norm) or failure.mistake)


def _name(ranks: Sequence[ScaledStep], truth: StepTruth, max_norm: float) -> Mistake | None:
    """Return what the scale was forgotten in, if it is that."""
    if any(len(seen.arrived) != 1 for seen in ranks):
        return None
    gradients = [seen.arrived[0] for seen in ranks]
    scale = ranks[0].scale_before[0]
    factors = {
        Mistake.NOT_UNSCALED: scale,
        Mistake.CLIPPED_BEFORE_UNSCALE: min(1.0, max_norm / (scale * truth.grad_norm)),
    }
    named = [
        mistake
        for mistake, factor in factors.items()
        if find_difference(gradients, truth.gradients, factor) is None
    ]
    return named[0] if named else None


def _judge_returned(ranks: Sequence[ScaledStep], is_skipped: bool) -> Failure | None:
    wrong = [rank for rank, seen in enumerate(ranks) if seen.returned is not is_skipped]
    if not wrong:
        return None
    came = ranks[wrong[0]].returned
    expected = f"{is_skipped}: whether the step was skipped"
    where = f"rank {wrong[0]}"
    return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=str(came), where=where)


def _judge_scaler(
    ranks: Sequence[ScaledStep], is_skipped: bool, growth_interval: int
) -> Failure | None:
    for rank, seen in enumerate(ranks):
        expected = torch_rule(*seen.scale_before, is_skipped, growth_interval)
        if seen.scale_after != expected:
            return Failure(
                mistake=Mistake.SCALER_NOT_UPDATED,
                expected=f"scale, num_good_steps = {expected}",
                came=str(seen.scale_after),
                where=f"rank {rank}",
            )
    return None
