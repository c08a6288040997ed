"""Judge what was found after a crash: complete or absent, right to 1e-12, and no obstacle."""

from collections.abc import Sequence
from dataclasses import replace

from grader.fsdp04.judge_state import judge_state
from grader.fsdp04.recovery import FilesChangedError, RanksDisagreeError, Recovery, Scenario
from grader.fsdp04.state import Truth
from grader.mistakes import Mistake
from grader.verdict import Failure


def judge_recovery(
    scenario: Scenario, ranks: Sequence[Recovery], truths: Sequence[Truth]
) -> Failure | None:
    """Judge the ranks' recovery in one scenario; truths[i] is the uninterrupted run at step i."""
    failure = _judge_found(scenario, ranks, truths) or _judge_saved(scenario, ranks, truths)
    return replace(failure, where=scenario.text) if failure is not None else None


def _judge_found(
    scenario: Scenario, ranks: Sequence[Recovery], truths: Sequence[Truth]
) -> Failure | None:
    troubled = [rank for rank in ranks if rank.trouble]
    expected = _describe(scenario.steps)
    if troubled and troubled[0].stage == "latest":
        came = troubled[0].trouble
        if came.startswith(RanksDisagreeError.__name__):
            expected = "the same checkpoint on every rank"
            came = came.partition(": ")[2]
            return Failure(mistake=Mistake.RANKS_DISAGREE, expected=expected, came=came)
        if came.startswith(FilesChangedError.__name__):
            expected, came = "latest_complete changes nothing", came.partition(": ")[2]
            return Failure(mistake=Mistake.FILES_CHANGED, expected=expected, came=came)
        return Failure(mistake=Mistake.LATEST_RAISES, expected=expected, came=came)
    if ranks[0].latest is None:
        if 0 in scenario.steps:
            return None
        came = "latest_complete returned None"
        return Failure(mistake=Mistake.NON_ATOMIC_SAVE, expected=expected, came=came)
    if troubled and troubled[0].stage == "load":
        came = f"loading what latest_complete returned raised {troubled[0].trouble}"
        return Failure(mistake=Mistake.LATEST_POINTS_TO_TORN, expected=expected, came=came)
    step = ranks[0].loaded.step if ranks[0].loaded else None
    if step not in scenario.steps:
        came = f"it holds step {step}"
        return Failure(mistake=Mistake.NOT_THE_NEWEST, expected=expected, came=came)
    assert isinstance(step, int)
    states = [[rank.loaded for rank in ranks if rank.loaded is not None]]
    if failure := judge_state(states, truths[step : step + 1], step):
        came = f"{failure.came} (expected {failure.expected}) on {failure.where}"
        return Failure(mistake=Mistake.LATEST_POINTS_TO_TORN, expected=expected, came=came)
    return None


def _judge_saved(
    scenario: Scenario, ranks: Sequence[Recovery], truths: Sequence[Truth]
) -> Failure | None:
    """Judge the step taken from there, and the save after it, amid what a crash left."""
    if not scenario.is_continued:
        return None
    step = ranks[0].loaded.step if ranks[0].loaded else 0
    assert isinstance(step, int)
    expected = f"the next save, of step {step + 1}, is made and found"
    for rank in ranks:
        if rank.trouble:
            came = f"{rank.stage}: {rank.trouble}"
            return Failure(mistake=Mistake.DEBRIS_BREAKS_SAVE, expected=expected, came=came)
    truth = truths[step + 1 : step + 2]
    stepped = [rank.stepped for rank in ranks if rank.stepped is not None]
    if failure := judge_state([stepped], truth, step + 1):
        return replace(failure, mistake=Mistake.OPTIM_NOT_RESTORED)
    saved = [rank.saved for rank in ranks if rank.saved is not None]
    if failure := judge_state([saved], truth, step + 1):
        came = f"found was {failure.came} (expected {failure.expected})"
        return Failure(mistake=Mistake.DEBRIS_BREAKS_SAVE, expected=expected, came=came)
    return None


def _describe(steps: Sequence[int]) -> str:
    words = [f"of step {step}" if step else "none" for step in steps]
    return f"the newest complete checkpoint: {' or '.join(words)}"
