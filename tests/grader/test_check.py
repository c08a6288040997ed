"""A check: its budget, the case that its verdict names, and the bar while it runs."""

import contextlib
import dataclasses
import os

import pytest

from grader import check, verdict
from grader.check import Check
from grader.mistakes import Mistake
from grader.verdict import CheckFailed, Failure
from sandbox.errors import DeadlockError, RankDiedError
from sandbox.ledger import Ledger
from sandbox.run import Run

RUN = Run(world_size=2, results=[None, None], ledger=Ledger(), output=["", ""], duration_s=0.1)


@pytest.fixture
def launched(monkeypatch):
    """Replace the launch of ranks; return a list of what launches raise, the last one's first."""
    errors = []

    def launch(*_, **__):
        error = errors.pop() if errors else None
        if error is not None:
            raise error
        return RUN

    monkeypatch.setattr("sandbox.launch", launch)
    return errors


def launch_and_judge(*cases):
    with Check("step", "proof") as running:
        for case in cases:
            running.launch(print, world_size=2, case=case)
        running.judge(Failure(mistake=Mistake.NO_STEP))


@pytest.fixture
def bar(monkeypatch, capsys):
    """Pretend to be in a notebook; return what the bar did, and what was printed until its end."""
    seen = []

    @contextlib.contextmanager
    def waiting(text, expected_s):
        seen.append(text)
        yield lambda: seen.append("tick")
        seen.append(("closed", capsys.readouterr().out))

    monkeypatch.setattr(check, "waiting", waiting)
    monkeypatch.setattr(verdict, "is_in_notebook", lambda: True)
    return seen


@pytest.mark.parametrize(
    ("load", "num_processors", "budget_s"),
    [(0.1, 2, 20.0), (2.0, 2, 20.0), (3.0, 2, 30.0), (10.0, 2, 50.0), (10.0, 16, 20.0)],
)
def test_the_budget_grows_with_the_queue_for_a_processor(
    load, num_processors, budget_s, monkeypatch
):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: num_processors)
    assert check.budget_s() == budget_s


@pytest.mark.parametrize(
    ("error", "mistake"),
    [
        (DeadlockError("ranks wait", run=RUN), Mistake.DEADLOCK),
        (RankDiedError("rank 1 ended", rank=1, run=RUN), Mistake.RANK_DIED),
    ],
)
def test_a_launch_that_ends_badly_names_its_case(error, mistake, launched, capsys):
    launched[:] = [error, None]
    with pytest.raises(CheckFailed, match=mistake.name):
        launch_and_judge("2 ranks, tied", "3 ranks, frozen")
    assert "  case     3 ranks, frozen\n" in capsys.readouterr().out


def test_a_judged_failure_names_the_case_of_the_last_launch(launched, capsys):
    with pytest.raises(CheckFailed) as caught:
        launch_and_judge("2 ranks, tied", "3 ranks, frozen")
    assert caught.value.failure.case == "3 ranks, frozen"
    assert "  case     3 ranks, frozen\n" in capsys.readouterr().out


def test_a_bar_moves_with_each_launch_and_is_gone_before_the_verdict(launched, bar, capsys):
    with Check("step", "proof") as running:
        running.launch(print, world_size=1)
        running.launch(print, world_size=2)
    assert bar == ["Checking step", "tick", "tick", ("closed", "")]
    assert "passed" in capsys.readouterr().out


def test_the_bar_is_gone_before_a_failure_too(launched, bar, capsys):
    with pytest.raises(CheckFailed), Check("step", "proof") as running:
        running.judge(Failure(mistake=Mistake.NO_STEP))
    assert bar == ["Checking step", ("closed", "")]
    assert "failed" in capsys.readouterr().out


def test_outside_a_notebook_there_is_no_bar(launched, bar, monkeypatch):
    monkeypatch.setattr(verdict, "is_in_notebook", lambda: False)
    with Check("step", "proof") as running:
        running.launch(print, world_size=1)
    assert bar == []


@pytest.mark.parametrize(
    ("kind", "took_s", "given_s"), [("gloo", 9, 0), ("nccl", 9, 4), ("nccl", 1, 1)]
)
def test_what_gpus_take_to_start_does_not_count(monkeypatch, kind, took_s, given_s):
    run = dataclasses.replace(RUN, backend=kind, duration_s=float(took_s))
    monkeypatch.setattr("sandbox.launch", lambda *_, **__: run)
    with Check("step", "proof") as running:
        before_s = running._end_s
        running.launch(print, world_size=2)
        assert running._end_s - before_s == pytest.approx(given_s)
