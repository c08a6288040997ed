"""Step 2: which gradients fp16 loses at the bottom, and how far up a loss scale may lift them."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grader.fsdp03.exercise import Check
from grader.mistakes import Mistake
from grader.plain import as_number
from grader.verdict import Failure

NumUnderflows = Callable[[Tensor, float], int]
LargestScale = Callable[[Tensor], float]
Answers = Sequence[tuple[float | str, float | str]]  # (underflows, scale) per case

FP16 = torch.finfo(torch.float16)
# Half of the smallest subnormal: what is smaller rounds to 0.
HALF_OF_SMALLEST = FP16.smallest_normal * FP16.eps / 2
# (largest absolute gradient, scale to count at, seed)
CASES = ((0.3, 1.0, 1), (2e-6, 64.0, 2), (900.0, 0.5, 3), (3e5, 2.0**-6, 4))


def gradients_of(largest: float, seed: int) -> Tensor:
    """Return gradients of all sizes below `largest`, which is negative; some are 0."""
    generator = torch.Generator().manual_seed(seed)
    exponents = -11 * torch.rand(3_000, generator=generator)
    signs = torch.where(torch.rand(3_000, generator=generator) < 0.5, -1.0, 1.0)
    gradients = 0.4 * largest * signs * 10**exponents
    gradients[:200] = 0.0
    gradients[200] = -largest
    return gradients


def check_fp16_range(num_underflows: NumUnderflows, largest_scale: LargestScale) -> None:
    """Judge `num_underflows(gradients, scale) -> int` and `largest_scale(gradients) -> float`."""
    proof = f"right for {len(CASES)} sets of gradients, from 1e-16 to 3e5"
    with Check("fp16_range", proof, num_underflows, largest_scale) as check:
        run = check.launch(observe, num_underflows, largest_scale, world_size=1)
        check.judge(judge(run.results[0]))


def observe(num_underflows: NumUnderflows, largest_scale: LargestScale) -> Answers:
    """Return both answers for every case."""
    answers = []
    for largest, scale, seed in CASES:
        gradients = gradients_of(largest, seed)
        underflows = as_number(num_underflows(gradients.clone(), scale))
        answers.append((underflows, as_number(largest_scale(gradients.clone()))))
    return answers


def judge(answers: Answers) -> Failure | None:
    """Compare with the limits of fp16; name the usual ways of getting it wrong."""
    for (largest, scale, seed), (underflows, top) in zip(CASES, answers, strict=True):
        gradients = gradients_of(largest, seed)
        failure = _judge_underflows(underflows, gradients, scale) or _judge_scale(top, gradients)
        if failure is not None:
            return failure
    return None


def _judge_underflows(came: float | str, gradients: Tensor, scale: float) -> Failure | None:
    scaled = gradients.double().abs() * scale
    is_lost = scaled <= HALF_OF_SMALLEST
    expected = int((is_lost & (scaled > 0)).sum())
    if came == expected:
        return None
    known = {
        Mistake.ZEROS_COUNTED: int(is_lost.sum()),
        Mistake.SUBNORMALS_COUNTED: int(((scaled < FP16.smallest_normal) & (scaled > 0)).sum()),
    }
    named = [mistake for mistake, count in known.items() if came == count]
    other = Mistake.WRONG_RESULT if isinstance(came, str) else Mistake.WRONG_COUNT
    return Failure(
        mistake=named[0] if named else other,
        expected=f"num_underflows: {expected:,}",
        came=came if isinstance(came, str) else f"{came:,.0f}",
        where=f"gradients up to {gradients.abs().max():g}, scale {scale:g}",
    )


def _judge_scale(came: float | str, gradients: Tensor) -> Failure | None:
    largest = gradients.double().abs().max().item()
    expected = 2.0 ** math.floor(math.log2(FP16.max / largest))
    if came == expected:
        return None
    if isinstance(came, str):
        mistake = Mistake.WRONG_RESULT
    elif came * largest > FP16.max:
        mistake = Mistake.SCALE_OVERFLOWS
    elif came <= 0 or math.frexp(came)[0] != 0.5:
        mistake = Mistake.SCALE_NOT_A_POWER_OF_TWO
    else:
        mistake = Mistake.SCALE_TOO_SMALL
    return Failure(
        mistake=mistake,
        expected=f"largest_scale: {expected:g}",
        came=came if isinstance(came, str) else f"{came:g}",
        where=f"gradients up to {largest:g}",
    )
