"""Send and recv against simulated ranks: whoever is stuck is named, and nobody else."""

from __future__ import annotations

import random
from collections import deque

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from simulated_messages import Step, World

from sandbox.event import Op
from sandbox.observing.record import Call
from sandbox.proving.monitor import Monitor
from sandbox.proving.problem import Problem, ProblemKind

ANY_SPEED = {
    "deadline": None,  # a busy machine is no reason to fail
    "suppress_health_check": [HealthCheck.too_slow],
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
}


@st.composite
def programs(draw: st.DrawFn, *, takes_from_any: bool) -> list[list[Step]]:
    """Draw messages between 2 to 4 ranks in one global order, and spoil some programs."""
    world_size = draw(st.integers(2, 4))
    ranks = st.integers(0, world_size - 1)
    todo: list[list[Step]] = [[] for _ in range(world_size)]
    for _ in range(draw(st.integers(1, 10))):
        source, target, tag = draw(ranks), draw(ranks), draw(st.integers(0, 1))
        if source == target:
            for program in todo:
                program.append(Step(""))
            continue
        named = source if not takes_from_any or draw(st.booleans()) else None
        todo[source].append(Step("send", target, tag, draw(st.booleans())))
        todo[target].append(Step("recv", named, tag, draw(st.integers(0, 3)) == 0))
    rng = draw(st.randoms(use_true_random=False))
    for _ in range(draw(st.integers(0, 3))):
        program = rng.choice(todo)
        if len(program) > 1 and rng.random() < 0.5:
            i = rng.randrange(len(program) - 1)
            program[i], program[i + 1] = program[i + 1], program[i]
        elif program:
            program.pop(rng.randrange(len(program)))
    return todo


def claims_about(world: World, stuck: set[int], rng: random.Random) -> list[Problem]:
    """Feed each rank's records in order, the ranks at any pace; return every problem claimed."""
    monitor = Monitor(len(world.programs))
    queues: dict[int, deque] = {rank: deque() for rank in range(len(world.programs))}
    for rank, record in world.records:
        queues[rank].append(record)
    claims = []
    while queues:
        rank = rng.choice(sorted(queues))
        if queues[rank]:
            monitor.feed(rank, queues[rank].popleft())
        if not queues[rank]:
            del queues[rank]
            if rank not in stuck:
                monitor.finished(rank)
        if problem := monitor.problem():
            claims.append(problem)
    return claims


@settings(max_examples=400, **ANY_SPEED)
@given(programs(takes_from_any=False), st.randoms(use_true_random=False))
def test_whoever_is_stuck_is_named_and_nobody_else(
    todo: list[list[Step]], rng: random.Random
) -> None:
    world = World(todo, rng)
    stuck = world.run()
    claims = claims_about(world, stuck, rng)
    for claim in claims:
        assert claim.kind is ProblemKind.DEADLOCK
        assert claim.waiting.keys() <= stuck
    # When all records are in, the whole truth is known.
    assert (claims[-1].waiting.keys() == stuck) if stuck else not claims


@settings(max_examples=400, **ANY_SPEED)
@given(programs(takes_from_any=True), st.randoms(use_true_random=False))
def test_with_any_source_nobody_is_accused_wrongly(
    todo: list[list[Step]], rng: random.Random
) -> None:
    world = World(todo, rng)
    stuck = world.run()
    assert all(claim.waiting.keys() <= stuck for claim in claims_about(world, stuck, rng))


SEND = Call("send", (4,), 4, "float32", 4, root=1, tag=0)
RECV = Call("recv", (4,), 4, "float32", 4, root=0, tag=0)


def feed(monitor: Monitor, rank: int, number: int, call: Call, *, waits: bool = False) -> None:
    if number == 0:
        monitor.feed(rank, ("group", "g", (0, 1, 2)))
    monitor.feed(rank, ("issue", number, "g", None, True, tuple(call), f"t.py:{rank}", 1.0))
    if waits:
        monitor.feed(rank, ("wait", number, "g", None, (rank, ())))


def test_what_another_rank_may_have_sent_unheard_leaves_a_recv_its_own_send() -> None:
    monitor = Monitor(3)
    feed(monitor, 0, 0, RECV._replace(root=None))
    monitor.feed(0, ("end", 0, 1.0, 0))  # it took one of rank 2, of which nothing is heard yet
    feed(monitor, 0, 1, RECV._replace(root=1), waits=True)
    feed(monitor, 1, 0, SEND._replace(root=0))
    monitor.finished(1)
    assert monitor.problem() is None
    monitor.finished(2)
    problem = monitor.problem()
    assert problem is not None
    assert problem.message.startswith("rank 1 never called send to rank 0")


def test_the_kth_send_meets_the_kth_recv_whoever_comes_first() -> None:
    monitor = Monitor(3)
    feed(monitor, 1, 0, RECV)
    feed(monitor, 0, 0, SEND)
    feed(monitor, 0, 1, SEND._replace(numel=6))
    feed(monitor, 1, 1, RECV._replace(shape=(2, 3), numel=6))
    assert monitor.problem() is None
    feed(monitor, 0, 2, SEND._replace(dtype="int32"))
    feed(monitor, 1, 2, RECV)
    problem = monitor.problem()
    assert problem is not None
    assert (problem.kind, problem.rank) == (ProblemKind.MISMATCH, 0)
    assert problem.message.startswith("rank 0 sent 4 int32 where rank 1 expected 4 float32.")


def test_a_refused_recv_leaves_the_send_without_one() -> None:
    monitor = Monitor(3)
    feed(monitor, 0, 0, SEND, waits=True)
    feed(monitor, 1, 0, RECV._replace(numel=3))
    assert monitor.problem() is not None
    monitor.feed(1, ("withdraw", 0, "g", None))
    assert monitor.problem() is None
    monitor.finished(1)
    problem = monitor.problem()
    assert problem is not None
    assert problem.message.startswith("rank 1 never called recv from rank 0: it finished")
    (wait,) = problem.waits
    assert (wait.rank, wait.op, wait.group, wait.waits_for) == (0, Op.SEND, (0, 1, 2), (1,))
    assert wait.site == "t.py:0"
    assert wait.text.startswith("waiting for rank 1 in send of float32 (4,) to rank 1 at t.py")


def test_other_tags_and_groups_are_other_channels() -> None:
    monitor = Monitor(3)
    feed(monitor, 0, 0, SEND._replace(tag=7), waits=True)
    feed(monitor, 1, 0, RECV, waits=True)
    problem = monitor.problem()
    assert problem is not None
    assert problem.waiting.keys() == {0, 1}
    assert "with tag 7" in problem.waiting[0]


def test_a_send_that_has_met_a_recv_is_no_evidence() -> None:
    monitor = Monitor(3)
    feed(monitor, 0, 0, SEND, waits=True)
    feed(monitor, 1, 0, RECV)
    monitor.finished(1)
    assert monitor.problem() is None
    assert not monitor.is_balanced()
