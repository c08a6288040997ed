"""Judge training steps against one process on the whole batch, and name what went wrong."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from grader.mistakes import Mistake
from grader.parity import find_difference, is_close, is_close_in_float32
from grader.shards import Shard, chunk_rows
from grader.truth import CLIPPINGS, Clipping, StepTruth, norm_of
from grader.verdict import Failure


@dataclass(frozen=True)
class StepSeen:
    """What one rank saw of one step: what was returned, and the shards at and after the step."""

    returned: str  # "numbers", or what came instead
    loss: float = 0.0
    grad_norm: float = 0.0
    arrived: list[dict[str, Shard]] = field(default_factory=list)  # gradients, per optimizer.step()
    weights: dict[str, Shard] = field(default_factory=dict)
    num_foreign: int = 0  # samples of other ranks that the model was given


def judge_steps(
    seen: Sequence[Sequence[StepSeen]], truths: Sequence[StepTruth], max_norm: float
) -> Failure | None:
    """Judge consecutive steps, `seen[rank][step]`; return the first failure."""
    for step, truth in enumerate(truths):
        ranks = [steps[step] for steps in seen if step < len(steps)]
        failure = (
            _judge_returned(ranks, len(seen))
            or _judge_own_samples(ranks)
            or _judge_order(ranks, truth)
            or judge_loss([rank.loss for rank in ranks], truth)
            or judge_arrived([rank.arrived for rank in ranks], truths[: step + 1], max_norm)
            or judge_norm([rank.grad_norm for rank in ranks], truth)
            or judge_weights([rank.weights for rank in ranks], truth)
        )
        if failure is not None:
            return replace(failure, where=f"{failure.where}, step {step}")
    return None


def judge_any_clipping(judge: Callable[[Clipping], Failure | None]) -> Failure | None:
    """Judge by each way of clipping; accept any, else prefer one by which the gradient is right."""
    failures = []
    for clipping in CLIPPINGS:
        failure = judge(clipping)
        if failure is None:
            return None
        failures.append(failure)
    named = [failure for failure in failures if failure.mistake is not Mistake.WRONG_GRADIENT]
    return (named or failures)[0]


def _judge_returned(ranks: Sequence[StepSeen], world_size: int) -> Failure | None:
    for rank, seen in enumerate(ranks):
        if seen.returned != "numbers":
            is_tensor = "Tensor" in seen.returned and "," in seen.returned
            return Failure(
                mistake=Mistake.NOT_A_NUMBER if is_tensor else Mistake.WRONG_RESULT,
                expected="(loss, grad_norm), two floats",
                came=seen.returned,
                where=f"rank {rank}",
            )
    assert len(ranks) == world_size
    return None


def _judge_own_samples(ranks: Sequence[StepSeen]) -> Failure | None:
    for rank, seen in enumerate(ranks):
        if seen.num_foreign:
            return Failure(
                mistake=Mistake.FOREIGN_SAMPLES,
                expected="the model called with this rank's samples",
                came=f"with {seen.num_foreign} of other ranks",
                where=f"rank {rank}",
            )
    return None


def _judge_order(ranks: Sequence[StepSeen], truth: StepTruth) -> Failure | None:
    is_swapped = all(
        is_close(seen.loss, truth.grad_norm) and is_close(seen.grad_norm, truth.loss)
        for seen in ranks
    )
    return Failure(mistake=Mistake.SWAPPED, where="every rank") if is_swapped else None


def judge_initial(
    shards: Sequence[Mapping[str, Shard]], initial: Mapping[str, Tensor]
) -> Failure | None:
    """Judge the weights before any step: those that config's seed gives."""
    difference = find_difference(shards, initial)
    if difference is None:
        return None
    return replace(
        difference.as_failure(Mistake.WRONG_MODEL, "weight before any step"),
        next_step='pass on all of config["model"]: its "seed" decides what the weights start as',
    )


def judge_loss(losses: Sequence[float], truth: StepTruth) -> Failure | None:
    """Judge the loss that each rank gives for the whole batch."""
    wrong = [rank for rank, loss in enumerate(losses) if not is_close(loss, truth.loss)]
    if not wrong:
        return None
    share = len(truth.sample_losses) // len(losses)
    local = [
        sum(truth.sample_losses[rank * share : (rank + 1) * share]) / share
        for rank in range(len(losses))
    ]
    if all(map(is_close, losses, local)):
        mistake = Mistake.LOCAL_LOSS
    elif all(is_close(loss, truth.loss * len(losses)) for loss in losses):
        mistake = Mistake.LOSS_SUMMED
    elif all(is_close_in_float32(loss, truth.loss) for loss in losses):
        mistake = Mistake.LOW_PRECISION
    else:
        mistake = Mistake.WRONG_LOSS
    return _numbers(mistake, "loss", truth.loss, losses[wrong[0]], wrong[0], len(losses))


def judge_arrived(
    arrived: Sequence[Sequence[Mapping[str, Shard]]], truths: Sequence[StepTruth], max_norm: float
) -> Failure | None:
    """Judge the gradients that reached the optimizer, `arrived[rank]` one entry per step taken.

    Where nothing is clipped these are the gradients before clipping.
    """
    for rank, steps in enumerate(arrived):
        if len(steps) != 1:
            return Failure(
                mistake=Mistake.WRONG_WEIGHTS if steps else Mistake.NO_STEP,
                expected="one optimizer.step()",
                came=f"{len(steps)}",
                where=f"rank {rank}",
            )
    came = [shard.local for steps in arrived for shard in steps[0].values()]
    if not any(gradient.any() for gradient in came):
        return Failure(
            mistake=Mistake.NO_GRADIENT,
            expected=f"gradients of {len(truths[-1].gradients)} parameters at optimizer.step()",
            came="all of them zero" if came else "none",
            where="every rank",
        )
    return judge_gradients([steps[0] for steps in arrived], truths, max_norm)


def judge_gradients(
    gradients: Sequence[Mapping[str, Shard]],
    truths: Sequence[StepTruth],
    max_norm: float = float("inf"),
) -> Failure | None:
    """Judge the gradients of the last of `truths`, clipped to `max_norm`; name what they are."""
    truth = truths[-1]
    difference = find_difference(gradients, truth.gradients, truth.clip_factor)
    if difference is None:
        return None
    world_size = len(gradients)
    summed = {name: world_size * whole for name, whole in truth.gradients.items()}
    averaged = {name: whole / world_size for name, whole in truth.gradients.items()}
    accumulated = _add([entry.gradients for entry in truths])
    if truth.clip_factor < 1 and find_difference(gradients, truth.gradients) is None:
        mistake = Mistake.NOT_CLIPPED
    elif _is_clipped_locally(gradients, truth, max_norm):
        mistake = Mistake.LOCAL_GRAD_NORM
    elif find_difference(gradients, summed) is None:
        mistake = Mistake.GRADIENTS_SUMMED
    elif world_size > 1 and _is_multiple(gradients, averaged, max_norm):
        mistake = Mistake.GRADIENTS_AVERAGED_TWICE
    elif len(truths) > 1 and _is_multiple(gradients, accumulated, max_norm):
        mistake = Mistake.GRADIENTS_ACCUMULATED
    else:
        mistake = Mistake.WRONG_GRADIENT
    return difference.as_failure(mistake, "gradient")


def _add(gradients: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    names = gradients[0]
    return {name: functools.reduce(torch.add, [g[name] for g in gradients]) for name in names}


def _is_multiple(
    gradients: Sequence[Mapping[str, Shard]], whole: Mapping[str, Tensor], max_norm: float
) -> bool:
    """Whether the gradients are `whole`, clipped to `max_norm` if it is longer."""
    factor = min(1.0, max_norm / (norm_of(whole.values()) + 1e-6))
    return find_difference(gradients, whole, factor) is None


def local_norm(truth: StepTruth, rank: int, world_size: int) -> float:
    """Return the norm of the rows that one rank holds of the true gradients."""
    return norm_of(
        whole[slice(*chunk_rows(len(whole), rank, world_size))]
        for whole in truth.gradients.values()
    )


def _is_clipped_locally(
    gradients: Sequence[Mapping[str, Shard]], truth: StepTruth, max_norm: float
) -> bool:
    """Whether each rank's shards are the truth's, clipped by the norm of these shards alone."""
    world_size = len(gradients)
    for rank, shards in enumerate(gradients):
        norm = local_norm(truth, rank, world_size)
        factors = [min(1.0, max_norm / (norm + epsilon)) for epsilon in (1e-6, 0.0)]
        if all(find_difference([shards], truth.gradients, factor) for factor in factors):
            return False
    return world_size > 1


def judge_norm(norms: Sequence[float], truth: StepTruth) -> Failure | None:
    """Judge the gradient norm that each rank gives."""
    wrong = [rank for rank, norm in enumerate(norms) if not is_close(norm, truth.grad_norm)]
    if not wrong:
        return None
    world_size = len(norms)
    local = [local_norm(truth, rank, world_size) for rank in range(world_size)]
    clipped = truth.grad_norm * truth.clip_factor
    if all(map(is_close, norms, local)):
        mistake = Mistake.LOCAL_GRAD_NORM
    elif truth.clip_factor < 1 and all(abs(norm - clipped) < 1e-5 for norm in norms):
        mistake = Mistake.NORM_AFTER_CLIP
    elif all(is_close_in_float32(norm, truth.grad_norm) for norm in norms):
        mistake = Mistake.LOW_PRECISION
    else:
        mistake = Mistake.WRONG_GRAD_NORM
    came = norms[wrong[0]]
    return _numbers(mistake, "gradient norm", truth.grad_norm, came, wrong[0], world_size)


def judge_weights(weights: Sequence[Mapping[str, Shard]], truth: StepTruth) -> Failure | None:
    """Judge the weights after the step."""
    difference = find_difference(weights, truth.weights)
    return difference.as_failure(Mistake.WRONG_WEIGHTS, "weight") if difference else None


def _numbers(
    mistake: Mistake, what: str, expected: float, came: float, rank: int, world_size: int
) -> Failure:
    num_digits = next((n for n in (6, 12) if f"{expected:.{n}g}" != f"{came:.{n}g}"), 17)
    return Failure(
        mistake=mistake,
        expected=f"{what} {expected:.{num_digits}g} on every rank",
        came=f"{came:.{num_digits}g}",
        where=f"rank {rank} of {world_size}",
    )
