"""The monitor against simulated ranks: it proves every deadlock, and nothing that is not one."""

from __future__ import annotations

import itertools
import random
from collections import deque

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from simulated_ranks import ALL_REDUCE, Groups, Step, World

from sandbox.event import Op
from sandbox.monitor import Monitor
from sandbox.problem import Problem, ProblemKind
from sandbox.record import Call


@st.composite
def worlds(draw: st.DrawFn, *, is_legal: bool) -> World:
    """Draw groups and a program per thread; legal ones follow one global order of collectives."""
    world_size = draw(st.integers(1, 5))
    members = st.sets(st.integers(0, world_size - 1), min_size=1).map(sorted).map(tuple)
    groups = {
        f"g{i}": ranks for i, ranks in enumerate(draw(st.lists(members, min_size=1, max_size=4)))
    }
    # One thread per group, as concurrent use has no order; a callback has a group of its own.
    thread_of = {gid: draw(st.integers(0, 1)) for gid in groups}
    groups |= {f"then {gid}": ranks for gid, ranks in groups.items()}
    steps = st.builds(Step, st.sampled_from(sorted(thread_of)), st.booleans(), st.none())
    order = [
        step._replace(then=f"then {step.gid}") if step.is_async and draw(st.booleans()) else step
        for step in draw(st.lists(steps, max_size=12))
    ]
    programs = [
        [[s for s in order if rank in groups[s.gid] and thread_of[s.gid] == i] for i in (0, 1)]
        for rank in range(world_size)
    ]
    if not is_legal:
        rng = draw(st.randoms(use_true_random=False))
        for _ in range(draw(st.integers(1, 3))):
            spoil(rng.choice(rng.choice(programs)), rng)
    return World(groups, [[p for p in threads if p] or [[]] for threads in programs])


def spoil(program: list[Step], rng: random.Random) -> None:
    """Skip one collective, or do two in the other order."""
    if len(program) > 1 and rng.random() < 0.5:
        i = rng.randrange(len(program) - 1)
        program[i], program[i + 1] = program[i + 1], program[i]
    elif program:
        program.pop(rng.randrange(len(program)))


def deliver(world: World, rng: random.Random) -> list[tuple[set[int], Problem]]:
    """Feed each rank's records in order, the ranks at any pace; return every problem claimed."""
    monitor = Monitor(world.world_size)
    queues: dict[int, deque] = {rank: deque() for rank in range(world.world_size)}
    for rank, records in world.records:
        queues[rank].append(records)
    claims = []
    while queues:
        rank = rng.choice(sorted(queues))
        for record in queues[rank].popleft() if queues[rank] else ():
            monitor.feed(rank, record)
        if not queues[rank]:
            del queues[rank]
            if rank not in world.stuck:
                monitor.finished(rank)
        if problem := monitor.problem():
            claims.append((set(problem.waiting), problem))
    return claims


ANY_SPEED = {
    "deadline": None,  # a busy machine is no reason to fail
    "suppress_health_check": [HealthCheck.too_slow],
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
}


@settings(max_examples=150, **ANY_SPEED)
@given(worlds(is_legal=True), st.randoms(use_true_random=False))
def test_a_legal_program_is_never_accused(world: World, rng: random.Random) -> None:
    world.run(iter(lambda: rng.randrange(1000), None))
    assert not world.stuck
    assert deliver(world, rng) == []


@settings(max_examples=300, **ANY_SPEED)
@given(worlds(is_legal=False), st.randoms(use_true_random=False))
def test_whoever_is_stuck_is_named_and_nobody_else(world: World, rng: random.Random) -> None:
    world.run(iter(lambda: rng.randrange(1000), None))
    claims = deliver(world, rng)
    for waiting, problem in claims:
        assert problem.kind is ProblemKind.DEADLOCK
        assert waiting <= world.stuck
    # When all records are in, the whole truth is known.
    assert claims[-1][0] == world.stuck if world.stuck else not claims


def run_to_the_end(groups: Groups, *programs: list[str]) -> tuple[Monitor, World]:
    world = World(groups, [[[Step(gid) for gid in program]] for program in programs])
    world.run(itertools.repeat(0))
    monitor = Monitor(len(programs))
    for rank, records in world.records:
        for record in records:
            monitor.feed(rank, record)
    for rank in set(range(len(programs))) - world.stuck:
        monitor.finished(rank)
    return monitor, world


def problem_of(groups: Groups, *programs: list[str]) -> Problem:
    problem = run_to_the_end(groups, *programs)[0].problem()
    assert problem is not None
    return problem


EVERYONE = {"g": (0, 1, 2, 3)}


def test_the_rank_that_skips_a_collective_is_the_culprit() -> None:
    problem = problem_of(EVERYONE, ["g", "g"], ["g", "g"], ["g"], ["g", "g"])
    assert problem.rank == 2
    assert problem.site == "train.py:0"
    assert problem.message == (
        "rank 2 never called all_reduce #2 of ranks 0-3: it finished after all_reduce at train.py, "
        "line 20.\n"
        "  rank 0: waiting for rank 2 in all_reduce #2 of ranks 0-3 with float32 (4,) at train.py, "
        "line 0\n"
        "  rank 1: waiting for rank 2 in all_reduce #2 of ranks 0-3 with float32 (4,) at train.py, "
        "line 10\n"
        "  rank 3: waiting for rank 2 in all_reduce #2 of ranks 0-3 with float32 (4,) at train.py, "
        "line 30"
    )


def test_the_rank_that_alone_calls_a_collective_is_the_culprit() -> None:
    problem = problem_of(EVERYONE, ["g"], [], [], [])
    assert problem.rank == 0
    assert problem.message.startswith(
        "only rank 0 called all_reduce #1 of ranks 0-3; ranks 1-3 finished without it."
    )


def test_the_root_cause_is_told_not_who_waits_for_the_waiting() -> None:
    groups = {"all": (0, 1, 2), "pair": (1, 2)}
    problem = problem_of(groups, ["all"], ["pair", "all"], [])
    assert problem.message.startswith(
        "rank 2 never called all_reduce #1 of ranks 1, 2: it finished"
    )
    assert problem.waiting.keys() == {0, 1}


def test_groups_locked_crosswise_are_told_apart() -> None:
    problem = problem_of({"a": (0, 1), "b": (0, 1)}, ["a", "b"], ["b", "a"])
    assert problem.message.startswith("ranks 0, 1 wait for each other.")
    assert "all_reduce #1 of ranks 0, 1 (group 1 of these ranks)" in problem.waiting[0]
    assert "all_reduce #1 of ranks 0, 1 (group 2 of these ranks)" in problem.waiting[1]


def test_no_proof_while_a_lacking_rank_still_runs() -> None:
    monitor = Monitor(3)
    monitor.feed(0, ("group", "g", (0, 1, 2)))
    issue(monitor, 0, 0, "g", 1, time_s=1.0, waits=(0, ()))
    monitor.finished(2)
    assert monitor.problem() is None
    monitor.finished(1)
    assert monitor.problem() is not None


def test_a_rank_goes_on_if_one_of_its_threads_can() -> None:
    monitor = Monitor(3)
    monitor.finished(2)
    for gid, ranks in (("a", (0, 1)), ("b", (0, 2))):
        monitor.feed(0, ("group", gid, ranks))
    issue(monitor, 0, 0, "a", 1, time_s=0.0, waits=(1, (2,)))
    issue(monitor, 0, 1, "b", 1, time_s=0.0, waits=(2, (1,)))
    assert monitor.problem() is None  # rank 1 may yet come, and thread 1 go on
    monitor.finished(1)
    assert monitor.problem() is not None


def test_a_running_rank_is_no_evidence() -> None:
    monitor, _ = run_to_the_end(EVERYONE, ["g"], ["g"], ["g"], [])
    monitor.begin_call(0.0)  # rank 3 runs again
    assert monitor.problem() is None


def test_a_rank_that_died_is_no_evidence() -> None:
    monitor, _ = run_to_the_end(EVERYONE, ["g"], ["g"], ["g"], [])
    monitor.died(3)
    assert monitor.problem() is None


def test_a_wait_that_was_given_up_is_no_evidence() -> None:
    monitor, _ = run_to_the_end(EVERYONE, ["g"], [], [], [])
    assert monitor.problem() is not None
    monitor.feed(0, ("end", 0, None, 0))
    assert monitor.problem() is None


def test_of_two_threads_in_one_operation_one_may_give_up() -> None:
    monitor = Monitor(2)
    monitor.finished(1)
    monitor.feed(0, ("group", "g", (0, 1)))
    issue(monitor, 0, 0, "g", 1, time_s=0.0, waits=(1, (2,)))
    monitor.feed(0, ("wait", 0, "g", 1, (2, (1,))))
    assert monitor.problem() is not None
    monitor.feed(0, ("end", 0, None, 1))
    assert monitor.problem() is None  # thread 2 still waits, but thread 1 goes on
    issue(monitor, 0, 1, "g", 2, time_s=0.0, waits=(1, (2,)))
    assert monitor.problem() is not None


def test_an_operation_that_all_have_issued_is_no_evidence() -> None:
    monitor = Monitor(2)
    for rank in (0, 1):
        monitor.feed(rank, ("group", "g", (0, 1)))
        issue(monitor, rank, 0, "g", 1, time_s=0.0, waits=(rank, ()))
    assert monitor.problem() is None
    assert monitor.waiting(0) == "in all_reduce #1 of ranks 0, 1 (issued by all of them)"


def test_a_rank_with_a_running_thread_is_no_evidence() -> None:
    monitor = Monitor(2)
    monitor.finished(1)
    monitor.feed(0, ("group", "g", (0, 1)))
    issue(monitor, 0, 0, "g", 1, time_s=0.0, waits=(1, (2,)))
    assert monitor.problem() is None
    assert monitor.waiting(0) is None
    monitor.feed(0, ("wait", 0, "g", 1, (1, ())))
    assert monitor.problem() is not None


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


def issue(
    monitor: Monitor,
    rank: int,
    number: int,
    gid: str,
    seq: int,
    *,
    time_s: float,
    call: Call = ALL_REDUCE,
    site: str | None = None,
    waits: tuple[int, tuple[int, ...]] | None = None,
) -> None:
    """Let `rank` issue a collective, and be blocked in it where `waits` says by which thread."""
    is_async = waits is None
    monitor.feed(rank, ("issue", number, gid, seq, is_async, tuple(call), site, time_s))
    if waits:
        monitor.feed(rank, ("wait", number, gid, seq, waits))


def feed_calls(*calls: Call) -> Monitor:
    monitor = Monitor(len(calls))
    ranks = tuple(range(len(calls)))
    for rank, call in enumerate(calls):
        monitor.feed(rank, ("group", "g", ranks))
        issue(monitor, rank, 0, "g", 1, time_s=1.0, call=call, site=f"t.py:{rank}")
    return monitor


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


def test_a_callback_may_yet_act_while_its_operation_is_in_flight() -> None:
    monitor = Monitor(2)
    monitor.finished(1)
    for rank in (0, 1):
        monitor.feed(rank, ("group", "g", (0, 1)))
        issue(monitor, rank, 0, "g", 1, time_s=0.0)
    issue(monitor, 0, 1, "g", 2, time_s=0.0, waits=(0, ()))
    assert monitor.problem() is None
    monitor.feed(0, ("end", 0, 1.0, 99))
    assert monitor.problem() is not None


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
