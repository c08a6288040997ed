"""Step 5: unscale the gradients and see an overflow on every rank; move the scale by its rules."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

import sandbox
from grader.cases import FROZEN, SMALL, TIED, UNEVEN, Case, new_sharded
from grader.fsdp03.exercise import Check
from grader.fsdp03.judge_scale import Scale, judge_scales, steps_of
from grader.fsdp03.one_number import judge_sent
from grader.mistakes import Mistake
from grader.plain import as_number, as_plain
from grader.verdict import Failure

Unscale = Callable[[Iterable[nn.Parameter], float], bool]
UpdateScale = Callable[[float, int, bool, int], tuple[float, int]]

SCALE = 1024.0  # a power of two: dividing by it is exact
# (rank, value): what is planted into one gradient of this rank, None for nothing.
PLANTED = ((None, 0.0), (0, torch.inf), (1, torch.nan), (-1, -torch.inf))
CASES = (
    Case(world_size=2, model=TIED, dtype=torch.float32),
    Case(world_size=3, model=UNEVEN, frozen=FROZEN, dtype=torch.float32),
    Case(world_size=4, model=SMALL, dtype=torch.float32),
    Case(world_size=1, model=SMALL, dtype=torch.float32),
)


@dataclass(frozen=True)
class Unscaled:
    """What one rank saw: the answer, and the gradients before and after, laid end to end."""

    returned: bool | str
    before: Tensor
    after: Tensor


def check_loss_scaler(unscale_gradients: Unscale, update_scale: UpdateScale) -> None:
    """Judge `unscale_gradients(parameters, scale) -> bool` and `update_scale(…) -> (scale, n)`."""
    proof = (
        "one rank's inf or NaN is seen by all of 1, 2, 3 and 4 ranks, gradients are divided, and\n"
        "  the scale follows torch's own rules over 40 steps"
    )
    with Check("loss_scaler", proof, unscale_gradients, update_scale) as check:
        scales = check.launch(observe_scales, update_scale, world_size=1).results[0]
        check.judge(judge_scales(scales))
        for case in CASES:
            run = check.launch(
                observe, unscale_gradients, case, world_size=case.world_size, case=case.text
            )
            largest = max(parameter.nbytes for parameter in case.new_model().parameters())
            for number, planted in enumerate(PLANTED):
                check.judge(judge([seen[number] for seen in run.results], planted))
                # Two marks per planted value: what lies between them is the answer's.
                sent = [run.ledger.phases(rank)[2 * number + 1] for rank in range(case.world_size)]
                check.judge(judge_sent(sent, largest))


def observe(unscale: Unscale, case: Case) -> list[Unscaled]:
    """Give one model gradients, plant an inf or NaN on one rank, unscale; once per entry."""
    model, _ = new_sharded(case)
    return [_observe_one(unscale, model, *planted) for planted in PLANTED]


def _observe_one(unscale: Unscale, model: nn.Module, rank: int | None, value: float) -> Unscaled:
    own, world_size = dist.get_rank(), dist.get_world_size()
    generator = torch.Generator().manual_seed(own)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    for weight in trained:
        weight.grad = weight.detach().clone()
        local = _local(weight.grad)
        local.copy_(SCALE * torch.randn(local.shape, generator=generator))
    if rank is not None and own == rank % world_size:
        held = [_local(weight.grad) for weight in trained if _local(weight.grad).numel()]
        held[len(held) // 2].view(-1)[-1] = value
    before = _flat(trained)
    sandbox.mark("unscale")
    answer = unscale(model.parameters(), SCALE)
    sandbox.mark("end")
    return Unscaled(as_bool(answer), before, _flat(trained))


def _local(tensor: Tensor | None) -> Tensor:
    assert tensor is not None
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _flat(weights: Sequence[nn.Parameter]) -> Tensor:
    """Return this rank's gradients end to end; nothing for those that are gone."""
    held = [_local(weight.grad) for weight in weights if weight.grad is not None]
    return torch.cat([gradient.flatten().clone() for gradient in held] or [torch.empty(0)])


def as_bool(answer: object) -> bool | str:
    """Return the answer as a bool, a 0 or 1 in a tensor too, or the name of its type."""
    if isinstance(answer, Tensor) and answer.numel() == 1:
        answer = answer.item()
    plain = as_plain(answer)
    return plain if isinstance(plain, str) else bool(plain)


def judge(seen: Sequence[Unscaled], planted: tuple[int | None, float]) -> Failure | None:
    """Judge what all ranks returned, then the gradients that they hold."""
    rank, value = planted
    has_one = rank is not None
    said = "all finite" if rank is None else f"{value} on rank {rank % len(seen)}"
    returned = [entry.returned for entry in seen]
    explain = functools.partial(
        Failure,
        expected=f"{has_one} on every rank",
        came=", ".join(f"rank {number}: {answer}" for number, answer in enumerate(returned)),
        where=f"gradients: {said}",
    )
    if any(isinstance(answer, str) for answer in returned):
        first = next(answer for answer in returned if isinstance(answer, str))
        return explain(mistake=Mistake.WRONG_RESULT, came=str(first))
    if len(set(returned)) > 1:
        return explain(mistake=Mistake.DIVERGENT_DECISION)
    if returned[0] is not has_one:
        return explain(mistake=Mistake.NONFINITE_MISSED if has_one else Mistake.FALSE_ALARM)
    return _judge_gradients(seen, said)


def _judge_gradients(seen: Sequence[Unscaled], said: str) -> Failure | None:
    """Compare with the scaled gradients divided, to fp32's last digit; NaN equals NaN."""
    for rank, entry in enumerate(seen):
        expected = entry.before / SCALE
        if _is_same(entry.after, expected):
            continue
        is_untouched = _is_same(entry.after, entry.before)
        return Failure(
            mistake=Mistake.NOT_UNSCALED if is_untouched else Mistake.UNSCALED_WRONG,
            expected=f"gradients with norm {_finite_norm(expected):.6g}",
            came=f"norm {_finite_norm(entry.after):.6g}",
            where=f"rank {rank}, scale {SCALE:g}, gradients: {said}",
        )
    return None


def _is_same(came: Tensor, expected: Tensor) -> bool:
    return came.shape == expected.shape and torch.allclose(
        came, expected, rtol=1e-6, atol=0, equal_nan=True
    )


def _finite_norm(values: Tensor) -> float:
    return values[values.isfinite()].norm().item()


def observe_scales(update_scale: UpdateScale) -> list[Scale | str]:
    """Return (scale, num_good_steps) after each of the steps; the name of a type ends the list."""
    scales: list[Scale | str] = []
    for growth_interval, start, found in steps_of():
        scale, num_good_steps = start, 0
        for found_inf in found:
            answer = update_scale(scale, num_good_steps, found_inf, growth_interval)
            pair = _as_pair(answer)
            scales.append(pair)
            if isinstance(pair, str):
                return scales
            scale, num_good_steps = pair
    return scales


def _as_pair(answer: object) -> Scale | str:
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return type(answer).__name__
    scale, num_good_steps = map(as_number, answer)
    if isinstance(scale, str) or isinstance(num_good_steps, str):
        return f"({', '.join(type(number).__name__ for number in answer)})"
    return float(scale), int(num_good_steps)
