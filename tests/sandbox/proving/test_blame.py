"""Who is to blame for a deadlock, in words."""

from __future__ import annotations

from fed_monitor import run_to_the_end
from simulated_ranks import Groups

from sandbox.event import Op
from sandbox.proving.problem import Problem


def problem_of(groups: Groups, *programs: list[str]) -> Problem:
    problem = run_to_the_end(groups, *programs)[0].problem()
    assert problem is not None
    return problem


EVERYONE = {"g": (0, 1, 2, 3)}


def test_the_rank_that_skips_a_collective_is_the_culprit() -> None:
    problem = problem_of(EVERYONE, ["g", "g"], ["g", "g"], ["g"], ["g", "g"])
    assert problem.rank == 2
    assert problem.site == "train.py:0"
    what = "collective #2, all_reduce, of ranks 0-3"
    assert problem.message == (
        f"rank 2 never called {what}: it finished after all_reduce at train.py, line 20.\n"
        f"  rank 0: waiting for rank 2 in {what} with float32 (4,) at train.py, line 0\n"
        f"  rank 1: waiting for rank 2 in {what} with float32 (4,) at train.py, line 10\n"
        f"  rank 3: waiting for rank 2 in {what} with float32 (4,) at train.py, line 30"
    )


def test_the_rank_that_alone_calls_a_collective_is_the_culprit() -> None:
    problem = problem_of(EVERYONE, ["g"], [], [], [])
    assert problem.rank == 0
    assert problem.message.startswith(
        "only rank 0 called collective #1, all_reduce, of ranks 0-3; ranks 1-3 finished without it."
    )


def test_the_root_cause_is_told_not_who_waits_for_the_waiting() -> None:
    groups = {"all": (0, 1, 2), "pair": (1, 2)}
    problem = problem_of(groups, ["all"], ["pair", "all"], [])
    assert problem.message.startswith(
        "rank 2 never called collective #1, all_reduce, of ranks 1, 2: it finished"
    )
    assert problem.waiting.keys() == {0, 1}


def test_groups_locked_crosswise_are_told_apart() -> None:
    problem = problem_of({"a": (0, 1), "b": (0, 1)}, ["a", "b"], ["b", "a"])
    assert problem.message.startswith("ranks 0, 1 wait for each other.")
    assert "collective #1, all_reduce, of ranks 0, 1 (group 1 of these ranks)" in problem.waiting[0]
    assert "collective #1, all_reduce, of ranks 0, 1 (group 2 of these ranks)" in problem.waiting[1]


def test_whom_most_wait_for_is_the_culprit_of_a_cycle() -> None:
    groups = {"all": (0, 1, 2, 3), "pair": (0, 1)}
    problem = problem_of(groups, ["pair", "all"], ["all", "pair"], ["all"], ["all"])
    assert problem.message.startswith("ranks 0, 1 wait for each other.\n  rank 0: ")
    assert problem.rank == 0  # ranks 1 to 3 wait for it, and it for rank 1 alone
    assert problem.waiting.keys() == {0, 1, 2, 3}


def test_who_waits_for_whom_is_told_as_data() -> None:
    problem = problem_of(EVERYONE, ["g", "g"], ["g", "g"], ["g"], ["g", "g"])
    assert [(wait.rank, wait.waits_for) for wait in problem.waits] == [
        (0, (2,)),
        (1, (2,)),
        (3, (2,)),
    ]
    first = problem.waits[0]
    assert (first.op, first.group, first.site) == (Op.ALL_REDUCE, (0, 1, 2, 3), "train.py:0")
    assert first.text == problem.waiting[0]
