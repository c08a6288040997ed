"""Step 6: predict the bytes of model states on a rank, for every stage and both accountings."""

from collections.abc import Callable, Sequence

import sandbox
from grader.fsdp02.exercise import Check
from grader.mistakes import Mistake
from grader.plain import as_plain
from grader.verdict import Failure

Predict = Callable[[int, int, int, bool], float]
PARTS = {True: (2, 2, 12), False: (4, 4, 8)}  # bytes of parameter, gradient, states

CASES = [
    (num_params, world_size, stage, is_mixed)
    for num_params, world_size in ((19_728, 4), (19_727, 3), (7 * 10**9, 64), (1_001, 1))
    for stage in range(4)
    for is_mixed in (True, False)
]


def check_predict_model_state_bytes(predict_model_state_bytes: Predict) -> None:
    """Judge `predict_model_state_bytes(num_params, world_size, stage, mixed_precision)`."""
    proof = f"right in {len(CASES)} cases: every stage, both ways of counting"
    with Check("predict_model_state_bytes", proof, predict_model_state_bytes) as check:
        run = check.launch(observe, predict_model_state_bytes, world_size=1)
        check.judge(judge(run.results[0]))


def observe(predict: Predict) -> list[float | str]:
    """Return the answer for every case; what is no number as the name of its type."""
    return [as_plain(predict(*case)) for case in CASES]


def judge(answers: Sequence[float | str]) -> Failure | None:
    """Compare with the formula; a partition's last element may be left out or shared."""
    for case, answer in zip(CASES, answers, strict=True):
        num_params, world_size, stage, is_mixed = case
        expected = sandbox.model_states(
            num_params, world_size, stage, param_dtype="bfloat16" if is_mixed else "float32"
        ).total
        if isinstance(answer, str):
            return Failure(mistake=Mistake.WRONG_RESULT, expected="a number", came=answer)
        if abs(answer - expected) <= 16:  # one element of a partition, rounded another way
            continue
        kind = "mixed precision" if is_mixed else "all fp32"
        return Failure(
            mistake=_name(answer, case),
            expected=f"{expected:,} bytes",
            came=f"{answer:,.0f} bytes",
            where=f"{num_params:,} parameters, {world_size} ranks, stage {stage}, {kind}",
        )
    return None


def _name(answer: float, case: tuple[int, int, int, bool]) -> Mistake:
    *_, stage, is_mixed = case
    parts = PARTS[is_mixed]
    if any(abs(answer - _total(case, other, parts)) <= 16 for other in range(stage + 1, 4)):
        return Mistake.PARTITIONED_TOO_EARLY
    if any(abs(answer - _total(case, other, parts)) <= 16 for other in range(stage)):
        return Mistake.PARTITIONED_TOO_LATE
    if is_mixed and abs(answer - _total(case, stage, (2, 2, 8))) <= 16:
        return Mistake.MASTER_WEIGHTS_FORGOTTEN
    return Mistake.ESTIMATE_WRONG


def _total(case: tuple[int, int, int, bool], stage: int, parts: tuple[int, int, int]) -> float:
    num_params, world_size, *_ = case
    share = -(-num_params // world_size)
    return sum(
        itemsize * (share if stage >= first else num_params)
        for itemsize, first in zip(parts, (3, 2, 1), strict=True)
    )
