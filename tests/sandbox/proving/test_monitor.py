"""The monitor: mismatches, refused calls, when it is certain, and what it counts."""

from __future__ import annotations

import pytest
from fed_monitor import feed_calls, issue, run_to_the_end
from simulated_ranks import ALL_REDUCE

from sandbox.event import Op
from sandbox.proving.certainty import SETTLE_S
from sandbox.proving.monitor import Monitor
from sandbox.proving.problem import ProblemKind


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        (
            "op",
            "barrier",
            "rank 1 called barrier where ranks 0, 2 called all_reduce (collective #1",
        ),
        ("reduce_op", "MAX", "another reduction than ranks 0, 2: MAX against SUM."),
        ("dtype", "int64", "another dtype than ranks 0, 2: int64 against float32."),
        ("root", 2, "another root than ranks 0, 2: 2 against None."),
        ("gives", 6, "rank 1 and rank 0 disagree on the sizes"),
    ],
)
def test_a_mismatch_names_the_odd_one_out(field: str, value: object, said: str) -> None:
    monitor = feed_calls(ALL_REDUCE, ALL_REDUCE._replace(**{field: value}), ALL_REDUCE)
    problem = monitor.problem()
    assert problem is not None
    assert problem.kind is ProblemKind.MISMATCH
    assert problem.rank == 1
    assert said in problem.message.splitlines()[0]
    assert problem.message.splitlines()[1].startswith("  rank 1: ")


def test_equal_numel_in_another_shape_is_no_mismatch() -> None:
    assert feed_calls(ALL_REDUCE, ALL_REDUCE._replace(shape=(2, 2))).problem() is None


def test_a_mismatch_waits_a_moment_for_the_others() -> None:
    barrier = ALL_REDUCE._replace(op="barrier")
    monitor = Monitor(3)
    for rank, call in enumerate([ALL_REDUCE, barrier]):
        monitor.feed(rank, ("group", "g", (0, 1, 2)))
        issue(monitor, rank, 0, "g", 1, time_s=1.0, call=call, waits=(rank, ()))
    assert monitor.problem(1.1) is None
    late = monitor.problem(1.5)
    assert late is not None
    assert late.rank == 1
    issue(monitor, 2, 0, "g", 1, time_s=1.1, call=barrier, waits=(2, ()))
    settled = monitor.problem(1.1)
    assert settled is not None
    assert settled.rank == 0


def test_a_call_that_may_yet_be_refused_is_no_mismatch() -> None:
    monitor = feed_calls(ALL_REDUCE, ALL_REDUCE._replace(gives=6, takes=6))
    assert monitor.problem(1.5) is None
    monitor.feed(0, ("end", 0, 1.5, 0))
    monitor.feed(1, ("wait", 0, "g", 1, (1, ())))
    assert monitor.problem(1.5) is not None


def test_the_end_of_an_earlier_call_confirms_none() -> None:
    monitor = Monitor(2)
    for rank in (0, 1):
        monitor.feed(rank, ("group", "g", (0, 1)))
        issue(monitor, rank, 0, "g", 1, time_s=1.0)
    for rank, numel in ((0, 4), (1, 6)):
        call = ALL_REDUCE._replace(gives=numel, takes=numel)
        issue(monitor, rank, 1, "g", 2, time_s=1.0, call=call)
        monitor.feed(rank, ("end", 0, 1.0, 7))
    assert monitor.problem(1.5) is None
    monitor.feed(1, ("withdraw", 1, "g", 2))
    assert monitor.problem(9.0) is None


def test_a_refused_call_is_forgotten() -> None:
    monitor = feed_calls(ALL_REDUCE, ALL_REDUCE._replace(gives=6, takes=6))
    assert monitor.problem() is not None
    monitor.feed(1, ("withdraw", 0, "g", 1))
    assert monitor.problem() is None
    assert not monitor.is_balanced()
    assert len(monitor.ledger()) == 1
    issue(monitor, 1, 1, "g", 1, time_s=2.0)
    assert monitor.problem() is None
    assert monitor.is_balanced()


def test_after_a_refused_call_the_others_wait_in_vain() -> None:
    monitor = Monitor(2)
    for rank, waiting in ((0, (0, ())), (1, (1, ()))):
        monitor.feed(rank, ("group", "g", (0, 1)))
        issue(monitor, rank, 0, "g", 1, time_s=1.0, waits=waiting)
    monitor.feed(1, ("withdraw", 0, "g", 1))
    assert monitor.problem() is None
    monitor.finished(1)
    problem = monitor.problem()
    assert problem is not None
    assert problem.rank == 1


def test_a_deadlock_is_told_once_its_ranks_are_silent() -> None:
    monitor, _ = run_to_the_end({"g": (0, 1)}, ["g"], [])
    last_s = monitor.ledger()[0].start_s
    assert monitor.problem(last_s + 0.01) is None
    assert monitor.problem(last_s + 0.1) is not None


def test_a_deadlock_waits_a_moment_for_others_to_show_that_they_are_stuck() -> None:
    monitor = Monitor(3)
    monitor.feed(0, ("group", "g", (0, 1)))
    issue(monitor, 0, 0, "g", 1, time_s=0.5, waits=(0, ()))
    monitor.finished(1)
    assert monitor.problem(1.0) is None  # rank 2 still runs
    assert monitor.problem(1.0 + SETTLE_S / 2) is None
    assert monitor.problem(1.0 + SETTLE_S) is not None


def test_a_deadlock_of_all_ranks_is_told_at_once() -> None:
    monitor = Monitor(2)
    monitor.feed(0, ("group", "g", (0, 1)))
    issue(monitor, 0, 0, "g", 1, time_s=0.5, waits=(0, ()))
    monitor.finished(1)
    assert monitor.problem(1.0) is not None


def test_collectives_are_counted_from_one_in_each_call() -> None:
    monitor, _ = run_to_the_end({"g": (0, 1)}, ["g", "g"], ["g", "g"])
    assert [event.seq for event in monitor.ledger().where(rank=0)] == [1, 2]
    monitor.begin_call(100.0)
    assert len(monitor.ledger()) == 0
    issue(monitor, 0, 2, "g", 3, time_s=101.0)
    (event,) = monitor.ledger()
    assert (event.seq, event.start_s, event.op) == (1, 1.0, Op.ALL_REDUCE)


def test_balance_tells_whether_anything_is_left_over() -> None:
    monitor, _ = run_to_the_end({"g": (0, 1)}, ["g"], ["g"])
    assert monitor.is_balanced()
    issue(monitor, 0, 2, "g", 2, time_s=1.0)
    assert not monitor.is_balanced()
