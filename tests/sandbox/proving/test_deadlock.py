"""Proofs against simulated ranks: every deadlock is found, and nothing that is not one."""

from __future__ import annotations

import random
from collections import deque

from fed_monitor import issue, run_to_the_end
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from simulated_ranks import Step, World

from sandbox.proving.monitor import Monitor
from sandbox.proving.problem import Problem, ProblemKind


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


EVERYONE = {"g": (0, 1, 2, 3)}


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
    assert (
        monitor.waiting(0) == "in collective #1, all_reduce, of ranks 0, 1 (issued by all of them)"
    )


def test_a_rank_with_a_running_thread_is_no_evidence() -> None:
    monitor = Monitor(2)
    monitor.finished(1)
    monitor.feed(0, ("group", "g", (0, 1)))
    issue(monitor, 0, 0, "g", 1, time_s=0.0, waits=(1, (2,)))
    assert monitor.problem() is None
    assert monitor.waiting(0) is None
    monitor.feed(0, ("wait", 0, "g", 1, (1, ())))
    assert monitor.problem() is not None


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
