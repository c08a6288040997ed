"""Step 8: find where a run went wrong: the step, the rank and the layer of the first inf or NaN."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from grader.fsdp03.diverged import Fault, GradientRecord, record_run
from grader.fsdp03.exercise import Check
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.failure import count_ranks

Culprit = tuple[int, int, str]
FirstNonfinite = Callable[[list[GradientRecord]], Culprit]

FAULTS = (
    Fault(3, 2, "blocks.1.feed_forward", "blocks.1.feed_forward.down", torch.inf),
    Fault(0, 3, "blocks.3.attention", "blocks.3.attention.out", torch.nan),
    Fault(2, 1, "head", "head", torch.nan, world_size=3),
    Fault(4, 0, "blocks.0.attention.value", "blocks.0.attention.value", torch.inf, world_size=2),
)


def check_first_nonfinite(first_nonfinite: FirstNonfinite) -> None:
    """Judge `first_nonfinite(records) -> (step, rank, layer)`."""
    proof = f"the culprit of {len(FAULTS)} runs is found, whether it began with inf or with NaN"
    with Check("first_nonfinite", proof, first_nonfinite) as check:
        runs = [
            check.launch(record_run, fault, world_size=fault.world_size).results for fault in FAULTS
        ]
        recorded = [[record for records in ranks for record in records] for ranks in runs]
        answers = check.launch(observe, first_nonfinite, recorded, world_size=1).results[0]
        for came, fault, records in zip(answers, FAULTS, recorded, strict=True):
            check.judge(judge(came, fault, records))


def observe(
    first_nonfinite: FirstNonfinite, runs: Sequence[Sequence[GradientRecord]]
) -> list[Culprit | str]:
    """Return the answer for each run as a plain triple, or the name of what came instead."""
    return [_as_culprit(first_nonfinite(list(records))) for records in runs]


def _as_culprit(answer: object) -> Culprit | str:
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        return type(answer).__name__
    step, rank, layer = answer
    try:
        return int(step), int(rank), str(layer)
    except (TypeError, ValueError):
        return f"({', '.join(type(part).__name__ for part in answer)})"


def judge(came: Culprit | str, fault: Fault, records: Sequence[GradientRecord]) -> Failure | None:
    """Compare with where the fault was planted."""
    if came == fault.culprit:
        return None
    failure = Failure(
        mistake=Mistake.WRONG_RESULT,
        expected="(step, rank, layer)",
        came=str(came),
        where=f"a run of {count_ranks(fault.world_size)}",
    )
    if isinstance(came, str):
        return failure
    return replace(failure, mistake=_name(came, fault, records), expected=str(fault.culprit))


def _name(came: Culprit, fault: Fault, records: Sequence[GradientRecord]) -> Mistake:
    nan = [record for record in records if math.isnan(record.norm)]
    bad = [record for record in records if not math.isfinite(record.norm)]
    first_nan = min(nan, key=lambda record: record.step)
    if came == bad[0][:3]:
        return Mistake.FIRST_IN_THE_LIST
    if came == first_nan[:3]:
        return Mistake.INF_OVERLOOKED
    if came[:2] == fault.culprit[:2]:
        return Mistake.SYMPTOM_NOT_CAUSE
    return Mistake.WRONG_CULPRIT
