"""fsdp01's checks accept every right answer and name the mistake of every wrong one."""

import os

import answers
import pytest
from exercise_tests import *  # noqa: F403  (they find EXERCISE and CALLS_MOST here)

from grader import explain, fsdp01, record
from grader.fsdp01 import make_trainer
from grader.mistakes import Mistake
from grader.verdict import CheckFailed, NotSolved
from sandbox.errors import RankTimeoutError

pytestmark = [pytest.mark.fsdp01, pytest.mark.timeout(60)]
EXERCISE = "fsdp01"
CALLS_MOST = "train_loop"


def test_a_stub_that_an_answer_calls_is_named(capfd, tmp_path):
    (tmp_path / "stub.py").write_text(
        "def shard_model(model, mesh):\n    raise NotImplementedError()"
    )
    with pytest.raises(NotSolved):
        answers.run_check(EXERCISE, "build", answers.solution(EXERCISE, tmp_path / "stub.py"))
    assert "It calls shard_model, which is not solved yet." in capfd.readouterr().out


def test_an_endless_loop_ends_with_the_budget(capfd, monkeypatch, tmp_path):
    monkeypatch.setattr("grader.check.BUDGET_S", 2.0)
    path = tmp_path / "endless.py"
    path.write_text("def build(config, mesh):\n    while True:\n        pass")
    with pytest.raises(CheckFailed, match="build: TIMED_OUT"):
        answers.run_check(EXERCISE, "build", answers.solution(EXERCISE, path))
    out = capfd.readouterr().out
    assert "endless.py, line" in out
    assert "Hint" not in out


def test_the_config_that_is_judged_is_the_notebooks():
    assert answers.solution(EXERCISE)["CONFIG"] == make_trainer.CONFIG


def test_a_line_of_an_earlier_step_is_told_with_its_step(capfd, tmp_path):
    path = tmp_path / "shard.py"
    path.write_text("def shard_model(model, mesh):\n    return model.no_such_thing")
    with pytest.raises(CheckFailed):
        answers.run_check(EXERCISE, "build", answers.solution(EXERCISE, path))
    assert "shard.py, line 2, in shard_model (step 2)\n" in capfd.readouterr().out


@pytest.mark.parametrize("is_graded", [False, True])
def test_a_step_that_failed_before_is_told_where_a_later_one_uses_it(
    is_graded, capfd, monkeypatch, tmp_path
):
    if is_graded:
        monkeypatch.setenv(record.RECORDS_VARIABLE, str(tmp_path / "records"))
    path = tmp_path / "padded.py"
    path.write_text("def padded_numel(shape, world_size):\n    return shape.numel()")
    namespace = answers.solution(EXERCISE, path)
    for check in ("padded_numel", "predict_sent_bytes"):
        with pytest.raises(CheckFailed):
            answers.run_check(EXERCISE, check, namespace)
    first = "first    step 9: padded_numel, which this uses, has failed its check\n"
    assert capfd.readouterr().out.count(first) == 1
    for check in ("padded_numel", "predict_sent_bytes"):
        answers.run_check(EXERCISE, check, answers.solution(EXERCISE))


@pytest.mark.parametrize("site", [None, f"{os.__file__}:3"])
def test_a_timeout_outside_the_answer_does_not_blame_it(site):
    failure = explain.failure_of(RankTimeoutError("rank 0 still ran", rank=0, site=site))
    assert failure.mistake is Mistake.NOT_REACHED
    assert "loop" not in failure.mistake.next_step


def test_the_same_answer_gets_the_same_text(capfd):
    path = next(p for p in answers.overlays("mutants", EXERCISE) if p.stem == "gradients_summed")
    texts = []
    for _ in range(2):
        with pytest.raises(CheckFailed):
            answers.run_check(EXERCISE, "shard_model", answers.solution(EXERCISE, path))
        texts.append(capfd.readouterr().out)
    assert texts[0] == texts[1]


def test_a_check_returns_nothing():
    assert fsdp01.check_rows_of_rank(answers.solution(EXERCISE)["rows_of_rank"]) is None
