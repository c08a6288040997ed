"""Which epochs a loop ran: judged by its reports on every rank, resumed or not."""

import pytest
import torch

from grader import storage
from grader.fsdp01 import judge_loop, make_trainer
from grader.fsdp01.judge_epochs import judge_epochs
from grader.fsdp01.loop_run import LoopRun
from grader.fsdp01.loop_watch import LoopStep
from grader.mistakes import Mistake
from grader.trainer_settings import describe_config
from grader.verdict import Failure

pytestmark = pytest.mark.fsdp01
STEP = LoopStep(torch.zeros(1, 2), {}, {}, {})


def report(epoch, **changes):
    return {"epoch": epoch, "loss": 4.0, "grad_norm": 1.0, **changes}


def judged(reports, first=0, stop=1, num_checkpoints=None, steps=(STEP,)):
    stored = stop if num_checkpoints is None else num_checkpoints
    failure = judge_epochs(LoopRun(first, stop, [list(steps)] * len(reports), reports, stored))
    return failure and failure.mistake


def reports_of(*epochs):
    return [[report(epoch) for epoch in epochs]] * 2


def test_each_epoch_reported_once_passes():
    assert judged(reports_of(0, 1), stop=2) is None
    assert judged(reports_of(2), first=2, stop=3) is None


@pytest.mark.parametrize(
    ("epochs", "first", "stop", "mistake"),
    [
        ((0,), 0, 2, Mistake.TOO_FEW_EPOCHS),
        ((), 2, 3, Mistake.TOO_FEW_EPOCHS),
        ((0, 1, 2), 0, 2, Mistake.TOO_MANY_EPOCHS),
        ((2, 3, 4), 2, 3, Mistake.TOO_MANY_EPOCHS),
        ((0, 1, 2), 2, 3, Mistake.RESUME_FROM_EPOCH_0),
        ((1, 2), 2, 3, Mistake.EPOCH_REPEATED),
        ((1, 2), 0, 2, Mistake.WRONG_EPOCH_REPORTED),
        ((0, 0, 1, 1), 0, 2, Mistake.TOO_MANY_REPORTS),
    ],
)
def test_the_epochs_that_were_run_tell_the_mistake(epochs, first, stop, mistake):
    assert judged(reports_of(*epochs), first, stop) is mistake


@pytest.mark.parametrize(
    ("second", "mistake"),
    [
        ([], Mistake.RANK0_ONLY_REPORT),
        ([{"epoch": 0, "loss": 4.0}], Mistake.METRIC_MISSING),
        ([report(0, loss="Tensor")], Mistake.NOT_A_NUMBER),
        ([report(1)], Mistake.WRONG_EPOCH_REPORTED),
    ],
)
def test_every_rank_is_judged(second, mistake):
    assert judged([[report(0)], second]) is mistake


def test_a_loop_that_reports_nothing_trained_or_did_not():
    assert judged([[], []]) is Mistake.METRIC_MISSING
    assert judged([[], []], steps=()) is Mistake.NO_STEP


def test_every_epoch_leaves_a_checkpoint():
    assert judged(reports_of(0, 1), stop=2, num_checkpoints=1) is Mistake.NO_CHECKPOINT


def test_a_run_falls_into_epochs_of_equal_steps():
    steps = [[STEP] * 5] * 2
    first, second = LoopRun(1, 3, steps, reports_of(1, 2), 3).epochs(num_steps=2)
    assert (first.number, first.is_resumed, len(first.steps[0])) == (1, True, 2)
    assert (second.number, second.is_resumed, len(second.steps[1])) == (2, False, 3)


def test_a_config_is_described_by_what_differs():
    assert describe_config({**make_trainer.CONFIG, "more": 1}, make_trainer.CONFIG) == "CONFIG"
    other = {**make_trainer.CONFIG, "lr": 7.0}
    del other["seed"]
    assert describe_config(other, make_trainer.CONFIG) == "'lr': 7.0, no 'seed'"


def test_a_resume_that_raises_is_blamed_on_ranks_that_handed_over_nothing(tmp_path):
    for rank in range(3):
        storage.write_report(tmp_path, rank, report(0), has_checkpoint=rank == 0)
    assert storage.ranks_without_checkpoint(tmp_path, 3) == [1, 2]
    assert storage.read_reports(tmp_path, 3) == [[report(0)]] * 3
    raised = Failure(mistake=Mistake.RAISED, came="FileNotFoundError: no __1_0.distcp")
    failure = judge_loop.lost_checkpoint([1, 2], raised)
    assert failure.mistake is Mistake.RANK0_ONLY_CHECKPOINT
    assert failure.came == "none from ranks 1, 2; to resume raised FileNotFoundError"
    storage.clear_reports(tmp_path)
    assert storage.ranks_without_checkpoint(tmp_path, 3) == []
