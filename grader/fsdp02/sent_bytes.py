"""Step 7: predict the bytes that a rank sends in one step, by stage."""

from collections.abc import Callable, Sequence

from grader.fsdp02.exercise import Check
from grader.mistakes import Mistake
from grader.plain import as_plain
from grader.verdict import Failure

Predict = Callable[[int, int, int, int], float]
TIMES = (2, 2, 2, 3)  # how often Ψ elements go round the ring, by stage; ZeRO, sec. 7

CASES = [
    (num_params, world_size, stage, itemsize)
    for num_params, world_size in ((19_728, 4), (12_600, 3), (1_000, 1), (7 * 10**9, 64))
    for stage in range(4)
    for itemsize in (4, 2)
]


def check_predict_sent_bytes(predict_sent_bytes: Predict) -> None:
    """Judge `predict_sent_bytes(num_params, world_size, stage, itemsize)`."""
    proof = f"right in {len(CASES)} cases: every stage, 1 to 64 ranks"
    with Check("predict_sent_bytes", proof, predict_sent_bytes) as check:
        check.judge(judge(check.launch(observe, predict_sent_bytes, world_size=1).results[0]))


def observe(predict: Predict) -> list[float | str]:
    """Return the answer for every case; what is no number as the name of its type."""
    return [as_plain(predict(*case)) for case in CASES]


def judge(answers: Sequence[float | str]) -> Failure | None:
    """Compare with the paper's formula; name the usual ways of getting it wrong."""
    for case, answer in zip(CASES, answers, strict=True):
        num_params, world_size, stage, itemsize = case
        expected = TIMES[stage] * num_params * itemsize * (world_size - 1) / world_size
        if isinstance(answer, str):
            return Failure(mistake=Mistake.WRONG_RESULT, expected="a number", came=answer)
        if abs(answer - expected) <= 0.5:
            continue
        return Failure(
            mistake=_name(answer, case, expected),
            expected=f"{expected:,.0f} bytes",
            came=f"{answer:,.0f} bytes",
            where=f"stage {stage}, {world_size} ranks, {num_params:,} elements of {itemsize} bytes",
        )
    return None


def _name(answer: float, case: tuple[int, int, int, int], expected: float) -> Mistake:
    num_params, _, stage, itemsize = case
    times = TIMES[stage]
    once_less = expected * (times - 1) / times
    known = {
        Mistake.RING_FACTOR_MISSING: float(times * num_params * itemsize),
        Mistake.ITEMSIZE_FORGOTTEN: expected / itemsize,
        {
            0: Mistake.ALL_REDUCE_COUNTED_ONCE,
            3: Mistake.BACKWARD_GATHER_FORGOTTEN,
        }.get(stage, Mistake.GATHER_FORGOTTEN): once_less,
    }
    named = [mistake for mistake, value in known.items() if abs(answer - value) <= 0.5]
    return named[0] if named else Mistake.ESTIMATE_WRONG
