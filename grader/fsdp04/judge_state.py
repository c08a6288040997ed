"""Judge a state that was loaded, and the steps taken from there, against the uninterrupted run."""

from collections.abc import Sequence

from grader.fsdp04.state import Snapshot, Truth
from grader.mistakes import Mistake
from grader.parity import find_difference, is_close
from grader.verdict import Failure


def judge_state(
    states: Sequence[Sequence[Snapshot]], truths: Sequence[Truth], step: int
) -> Failure | None:
    """Judge what the ranks had after loading (states[0]) and after each further step.

    `truths` are the uninterrupted run's at the same places; `step` is that of the checkpoint.
    """
    loaded, truth = states[0], truths[0]
    if difference := find_difference([rank.weights for rank in loaded], truth.weights):
        return difference.as_failure(Mistake.WEIGHTS_NOT_RESTORED, "weight")
    if difference := find_difference([rank.moments for rank in loaded], truth.moments):
        return difference.as_failure(Mistake.OPTIM_NOT_RESTORED, "moment")
    for rank, snapshot in enumerate(loaded):
        if snapshot.step != step:
            expected, came = f"state.step {step}, as saved", f"{snapshot.step!r}"
            mistake = Mistake.DATALOADER_STATE_LOST
            return Failure(mistake=mistake, expected=expected, came=came, where=f"rank {rank}")
    for number, (after, truth) in enumerate(zip(states, truths, strict=True)):
        for rank, snapshot in enumerate(after):
            if not is_close(snapshot.lr, truth.lr):
                when = f"{number} steps after loading" if number else "after loading"
                return Failure(
                    mistake=Mistake.SCHEDULER_NOT_RESTORED,
                    expected=f"lr {truth.lr:.6g} for step {step + number}",
                    came=f"{snapshot.lr:.6g}",
                    where=f"rank {rank}, {when}",
                )
    for after, truth in zip(states[1:], truths[1:], strict=True):
        if difference := find_difference([rank.weights for rank in after], truth.weights):
            what = "after the next step, weight"
            return difference.as_failure(Mistake.OPTIM_NOT_RESTORED, what)
    return None
