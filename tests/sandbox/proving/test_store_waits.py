"""Waits for a store, or that a signal may end: certain after one more look than all acts."""

from __future__ import annotations

from sandbox.event import Op
from sandbox.observing.record import Call
from sandbox.proving.certainty import LOOK_AGAIN_S
from sandbox.proving.monitor import Monitor

GET = Call("store.get", (), 0, "", 0, key="address")
RECV = Call("recv", (4,), 4, "float32", 4, root=1, tag=0)


def look(monitor: Monitor, rank: int, checked_s: float, *others: int) -> None:
    """Publish that `rank` still waits for the key of its first call."""
    monitor.feed(rank, ("wait", 0, "", None, (rank, others, False, checked_s)))


def waiting_for_a_key(*ranks: int) -> Monitor:
    monitor = Monitor(2)
    for rank in ranks:
        monitor.feed(rank, ("issue", 0, "", None, False, tuple(GET), f"t.py:{rank}", 0.5))
        look(monitor, rank, 1.0)
    return monitor


def test_a_key_that_was_looked_for_too_early_may_be_set_by_now() -> None:
    monitor = waiting_for_a_key(0)
    assert monitor.problem(2.0) is None
    monitor.finished(1)  # having set the key at the very end, perhaps
    assert monitor.problem(3.0) is None
    look(monitor, 0, 3.0 + LOOK_AGAIN_S / 2)
    assert monitor.problem(4.0) is None
    look(monitor, 0, 3.1 + LOOK_AGAIN_S)
    problem = monitor.problem(4.0)
    assert problem is not None
    assert problem.is_by_store
    assert problem.message.splitlines() == [
        "rank 1 never set the key of store.get('address'): it finished.",
        "  rank 0: waiting for any rank to set the key of store.get('address') at t.py, line 0",
    ]
    (wait,) = problem.waits
    assert (wait.op, wait.group, wait.waits_for) == (Op.STORE_GET, (0, 1), (1,))


def test_any_running_rank_could_set_the_key() -> None:
    monitor = waiting_for_a_key(0)
    assert monitor.problem() is None


def test_all_that_wait_for_one_key_wait_for_ever() -> None:
    monitor = waiting_for_a_key(0, 1)
    problem = monitor.problem()
    assert problem is not None
    assert problem.message.startswith("ranks 0, 1 wait for each other.")


def test_another_thread_of_one_that_waits_could_set_the_key() -> None:
    monitor = waiting_for_a_key(0, 1)
    look(monitor, 1, 1.0, 99)  # its thread 99 runs
    assert monitor.problem() is None


def test_a_key_that_was_set_is_no_evidence() -> None:
    monitor = waiting_for_a_key(0)
    monitor.finished(1)
    monitor.feed(0, ("end", 0, 2.0, 0))
    assert monitor.problem() is None
    assert len(monitor.ledger()) == 0  # a wait for a store is no event of it


def test_a_signal_that_was_sent_last_may_not_have_come_yet() -> None:
    monitor = Monitor(2)
    monitor.feed(0, ("group", "g", (0, 1)))
    monitor.feed(0, ("issue", 0, "g", None, False, tuple(RECV), "t.py:0", 0.5))
    monitor.feed(0, ("wait", 0, "g", None, (0, (), True, 1.0)))
    monitor.finished(1)
    assert monitor.problem(3.0) is None
    monitor.feed(0, ("wait", 0, "g", None, (0, (), True, 3.1 + LOOK_AGAIN_S)))
    assert monitor.problem(4.0) is not None


def test_whoever_hears_signals_may_go_on_while_any_rank_runs() -> None:
    for hears_signals in (True, False):
        monitor = Monitor(3)
        monitor.feed(0, ("group", "g", (0, 1)))
        monitor.feed(0, ("issue", 0, "g", None, False, tuple(RECV), "t.py:0", 0.5))
        monitor.feed(0, ("wait", 0, "g", None, (0, (), hears_signals)))
        monitor.finished(1)  # rank 2 runs, and could send one
        assert (monitor.problem() is None) == hears_signals
