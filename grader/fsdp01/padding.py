"""Step 9: the elements that a gather of one parameter moves, padding included."""

from collections.abc import Callable, Sequence
from typing import Any

from grader.fsdp01.exercise import Check
from grader.mistakes import Mistake
from grader.shards import padded_numel as true_padded_numel
from grader.verdict import Failure
from sandbox.failure import count_ranks

PaddedNumel = Callable[[Sequence[int], int], int]

SHAPES = ((12, 4), (5, 24), (24,), (13, 3, 2), (2, 7), (1,))
WORLD_SIZES = (1, 2, 3, 4)
CASES = [(shape, world_size) for shape in SHAPES for world_size in WORLD_SIZES]


def check_padded_numel(padded_numel: PaddedNumel) -> None:
    """Judge `padded_numel(shape, world_size) -> int`."""
    proof = f"right for {len(CASES)} shapes and world sizes"
    with Check("padded_numel", proof, padded_numel) as check:
        check.judge(judge(check.launch(observe, padded_numel, world_size=1).results[0]))


def observe(padded_numel: PaddedNumel) -> list[float | str]:
    """Return the answer for every case; what is no number as the name of its type."""
    return [_as_number(padded_numel(*case)) for case in CASES]


def _as_number(answer: Any) -> float | str:
    try:
        return float(answer)
    except (TypeError, ValueError):
        return type(answer).__name__


def judge(answers: Sequence[float | str]) -> Failure | None:
    """Compare with the rows rounded up; name the usual ways of getting it wrong."""
    expected = [true_padded_numel(*case) for case in CASES]
    wrong = [case for case in range(len(CASES)) if answers[case] != expected[case]]
    if not wrong:
        return None
    first = wrong[0]
    shape, world_size = CASES[first]
    return Failure(
        mistake=_name_mistake(answers),
        expected=f"{expected[first]:,}",
        came=_text(answers[first]),
        where=f"shape {shape} on {count_ranks(world_size)}",
    )


def _text(answer: float | str) -> str:
    """Return a whole number as one: "1,200", not "1200.0"."""
    if isinstance(answer, str):
        return answer
    return f"{answer:,.0f}" if float(answer).is_integer() else f"{answer:,}"


def _name_mistake(answers: Sequence[float | str]) -> Mistake:
    if any(isinstance(answer, str) for answer in answers):
        return Mistake.WRONG_RESULT
    plain = [true_padded_numel(shape, 1) for shape, _ in CASES]
    if list(answers) == plain:
        return Mistake.PADDING_FORGOTTEN
    flat = [
        -(-numel // world_size) * world_size
        for numel, (_, world_size) in zip(plain, CASES, strict=True)
    ]
    return Mistake.FLAT_PADDING if list(answers) == flat else Mistake.ESTIMATE_WRONG
