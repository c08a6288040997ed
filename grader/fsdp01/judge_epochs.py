"""Judge which epochs a training loop ran, by what it reported."""

from collections.abc import Sequence

from grader.fsdp01.loop_run import LoopRun
from grader.mistakes import Mistake
from grader.storage import Report
from grader.verdict import Failure

METRICS = ("loss", "grad_norm", "epoch")


def judge_epochs(run: LoopRun) -> Failure | None:
    """Judge that each rank reported each epoch once, with its metrics, and that all are stored."""
    counts = [len(reports) for reports in run.reports]
    if len(set(counts)) > 1:
        return unequal_reports(counts, "")
    if not any(counts) and run.first == 0:
        return _nothing_reported(run)
    for rank, reports in enumerate(run.reports):
        failures = [_judge_metrics(report) for report in reports]
        failure = next(filter(None, failures), None) or _judge_numbers(reports, run)
        if failure is not None:
            mistake, expected, came = failure
            where = f"rank {rank}"
            return Failure(mistake=mistake, expected=expected, came=came, where=where)
    if run.num_checkpoints < run.stop:
        expected = f"{run.stop} after {run.stop} epochs"
        came = f"{run.num_checkpoints}"
        return Failure(mistake=Mistake.NO_CHECKPOINT, expected=expected, came=came)
    return None


def unequal_reports(counts: Sequence[int], where: str) -> Failure:
    """Return the failure of ranks that did not report equally often."""
    return Failure(
        mistake=Mistake.RANK0_ONLY_REPORT,
        expected="as many reports on every rank: one per epoch",
        came=", ".join(f"rank {rank}: {count}" for rank, count in enumerate(counts)),
        where=where,
    )


def _nothing_reported(run: LoopRun) -> Failure:
    if not any(run.steps):
        expected = "optimizer steps on every rank"
        return Failure(mistake=Mistake.NO_STEP, expected=expected, came="none")
    expected = "a report with 'loss', 'grad_norm' and 'epoch'"
    return Failure(mistake=Mistake.METRIC_MISSING, expected=expected, came="no report")


Facts = tuple[Mistake, str, str]  # what it is, what was expected, what came


def _judge_metrics(report: Report) -> Facts | None:
    expected = "'loss', 'grad_norm' and 'epoch', all numbers"
    if missing := [name for name in METRICS if name not in report]:
        came = f"{report}"
        return Mistake.METRIC_MISSING, f"{expected}; '{missing[0]}' is not there", came
    for name in METRICS:
        if type(report[name]) not in (int, float):
            return Mistake.NOT_A_NUMBER, expected, f"'{name}' is a {report[name]}"
    return None


def _judge_numbers(reports: Sequence[Report], run: LoopRun) -> Facts | None:
    """Judge the epochs that one rank reported: those asked for, each once."""
    asked = list(run.numbers)
    came = list(dict.fromkeys(report["epoch"] for report in reports))
    expected, told = f"epochs {_list(asked)}", f"epochs {_list(came)} reported"
    if came == asked:
        if len(reports) == len(asked):
            return None
        return Mistake.TOO_MANY_REPORTS, f"one report per epoch: {len(asked)}", f"{len(reports)}"
    if came == asked[: len(came)]:
        return Mistake.TOO_FEW_EPOCHS, expected, told
    if asked == came[: len(asked)]:
        return Mistake.TOO_MANY_EPOCHS, expected, told
    if run.first > 0 and came[-len(asked) :] == asked:
        begins_anew = came[0] == 0
        mistake = Mistake.RESUME_FROM_EPOCH_0 if begins_anew else Mistake.EPOCH_REPEATED
        return mistake, f"{expected} alone after a resume", told
    return Mistake.WRONG_EPOCH_REPORTED, expected, told


def _list(numbers: Sequence[object]) -> str:
    return ", ".join(map(str, numbers)) or "none"
