"""Judge how the loss scale moves: torch's own GradScaler kernel is the truth."""

from collections.abc import Callable, Sequence

import torch

from grader.mistakes import Mistake
from grader.verdict import Failure

Scale = tuple[float, int]  # (scale, good steps since the last change)
Rule = Callable[[float, int, bool, int], Scale]


def steps_of() -> list[tuple[int, float, list[bool]]]:
    """Return (growth_interval, first scale, whether each step overflows) of three runs."""
    generator = torch.Generator().manual_seed(0)
    drawn = (torch.rand(24, generator=generator) < 0.2).tolist()
    return [
        (3, 1024.0, [False, False, True, False, False, False, False, True]),
        (1, 64.0, [False, False, True, False, True, True, False, False]),
        (4, 2.0**16, drawn),
    ]


def torch_rule(scale: float, num_good_steps: int, found_inf: bool, growth_interval: int) -> Scale:
    """Return what torch.amp.GradScaler would make of it: growth 2, back-off 1/2."""
    held = torch.tensor(scale), torch.tensor(num_good_steps, dtype=torch.int32)
    torch._amp_update_scale_(*held, torch.tensor(float(found_inf)), 2.0, 0.5, growth_interval)
    return held[0].item(), int(held[1])


def judge_scales(came: Sequence[Scale | str]) -> Failure | None:
    """Compare with torch's rule step by step; name the rule that was forgotten."""
    expected = run_rule(torch_rule)
    for number, (is_now, should_be) in enumerate(zip(came, expected, strict=False)):
        if is_now == should_be:
            continue
        if isinstance(is_now, str):
            mistake = Mistake.WRONG_RESULT
        else:
            wrong = [code for code, rule in WRONG_RULES if run_rule(rule) == list(came)]
            mistake = wrong[0] if wrong else Mistake.WRONG_SCALE
        return Failure(
            mistake=mistake,
            expected=f"(scale, num_good_steps) {should_be}",
            came=str(is_now),
            where=_describe(number, expected),
        )
    return None


def run_rule(rule: Rule) -> list[Scale]:
    """Return the scales that a rule gives over all runs."""
    scales = []
    for growth_interval, start, found in steps_of():
        scale = start, 0
        for found_inf in found:
            scale = rule(*scale, found_inf, growth_interval)
            scales.append(scale)
    return scales


def _describe(number: int, expected: Sequence[Scale]) -> str:
    """Return with which arguments update_scale was called for this entry of the list."""
    for growth_interval, start, found in steps_of():
        if number < len(found):
            before = (start, 0) if number == 0 else expected[number - 1]
            arguments = (*before, found[number], growth_interval)
            return f"update_scale({', '.join(map(str, arguments))}), step {number} of its run"
        number -= len(found)
        expected = expected[len(found) :]
    return ""


def _no_backoff(scale: float, num_good_steps: int, found_inf: bool, growth_interval: int) -> Scale:
    return (scale, 0) if found_inf else torch_rule(scale, num_good_steps, False, growth_interval)


def _no_growth(scale: float, num_good_steps: int, found_inf: bool, growth_interval: int) -> Scale:
    return (scale / 2, 0) if found_inf else (scale, num_good_steps + 1)


def _counts_on_after_overflow(
    scale: float, num_good_steps: int, found_inf: bool, growth_interval: int
) -> Scale:
    if found_inf:
        return scale / 2, num_good_steps
    return torch_rule(scale, num_good_steps, False, growth_interval)


def _counts_on_after_growth(
    scale: float, num_good_steps: int, found_inf: bool, growth_interval: int
) -> Scale:
    if found_inf:
        return scale / 2, 0
    count = num_good_steps + 1
    return (2 * scale if count >= growth_interval else scale), count


WRONG_RULES: tuple[tuple[Mistake, Rule], ...] = (
    (Mistake.SCALE_NOT_BACKED_OFF, _no_backoff),
    (Mistake.SCALE_NEVER_GROWS, _no_growth),
    (Mistake.GOOD_STEPS_NOT_RESET, _counts_on_after_overflow),
    (Mistake.GOOD_STEPS_NOT_RESET, _counts_on_after_growth),
)
