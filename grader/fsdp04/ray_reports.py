"""Judge at which steps a loop under Ray Train reported, on every rank, and with what."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader import storage
from grader.mistakes import Mistake
from grader.storage import Report
from grader.verdict import Failure
from sandbox.failure import name_ranks


def judge_stored(path: Path, world_size: int, config: Mapping[str, Any]) -> Failure | None:
    """Judge the reports of a whole run, and the checkpoints that came with them."""
    reports = storage.read_reports(path, world_size)
    failure = judge_counts(reports, "")
    for rank, own in enumerate(reports):
        failure = failure or _judge_reports(own, rank, config)
    if failure is not None:
        return failure
    if silent := storage.ranks_without_checkpoint(path, world_size):
        expected = "a part of the checkpoint from every rank"
        came = f"none from {name_ranks(silent)}"
        return Failure(mistake=Mistake.RANK0_ONLY_CHECKPOINT, expected=expected, came=came)
    return _judge_checkpoints(storage.checkpoints(path), len(reports[0]))


def judge_counts(reports: Sequence[Sequence[Report]], where: str) -> Failure | None:
    """Judge that all ranks reported equally often."""
    counts = [len(own) for own in reports]
    if len(set(counts)) == 1:
        return None
    return Failure(
        mistake=Mistake.RANK0_ONLY_REPORT,
        expected="as many reports on every rank: one per save",
        came=", ".join(f"rank {rank}: {count}" for rank, count in enumerate(counts)),
        where=where,
        next_step="call it on every rank, once per save, outside any `if rank == 0`",
    )


def steps_to_report(config: Mapping[str, Any]) -> list[int]:
    """Return the steps after which to save: every save_every, and the last."""
    steps = range(1, int(config["num_steps"]) + 1)
    return [step for step in steps if step % config["save_every"] == 0 or step == steps[-1]]


def _judge_reports(reports: Sequence[Report], rank: int, config: Mapping[str, Any]) -> Any:
    where = f"rank {rank}"
    asked = steps_to_report(config)
    for report in reports:
        came = report.get("step")
        if type(came) is int:
            continue
        mistake = Mistake.METRIC_MISSING if came is None else Mistake.NOT_A_NUMBER
        return Failure(
            mistake=mistake,
            expected="'step', the number of steps taken",
            came=f"{report}",
            where=where,
            next_step='report {"step": state.step} with each checkpoint',
        )
    steps = [report["step"] for report in reports]
    if steps == asked:
        return None
    expected, came = f"reports after steps {_list(asked)}", _list(steps)
    return Failure(mistake=Mistake.REPORTED_ELSEWHERE, expected=expected, came=came, where=where)


def _judge_checkpoints(found: Sequence[Path], num_reports: int) -> Failure | None:
    if len(found) == num_reports:
        return None
    expected, came = f"{num_reports} checkpoints, one per report", f"{len(found)}"
    return Failure(mistake=Mistake.NO_CHECKPOINT, expected=expected, came=came)


def _list(numbers: Sequence[object]) -> str:
    return ", ".join(map(str, numbers)) or "none"
