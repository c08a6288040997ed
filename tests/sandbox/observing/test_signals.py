"""Which signals may let a waiting rank go on."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from sandbox.observing import signals


@pytest.fixture
def user_signal() -> Iterator[int]:
    before = signal.getsignal(signal.SIGUSR2)
    yield signal.SIGUSR2
    signal.signal(signal.SIGUSR2, before)


def test_a_handler_of_the_learners_is_heard(user_signal: int) -> None:
    signal.signal(user_signal, lambda *_: None)
    assert signals.hears_signals()


@pytest.mark.timeout(60, method="thread")  # the other method arms a timer
def test_a_timer_counts_while_it_is_armed_and_handled_in_python() -> None:
    handler = signal.signal(signal.SIGVTALRM, lambda *_: None)
    try:
        assert not signals.timer_is_armed()
        signal.setitimer(signal.ITIMER_VIRTUAL, 1000)
        assert signals.timer_is_armed()
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
        assert not signals.timer_is_armed()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
