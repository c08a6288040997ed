"""Whether a signal may let a waiting rank go on: an armed timer, or a handler of the learner's."""

from __future__ import annotations

import signal
from collections.abc import Callable

_TIMERS = (
    (signal.ITIMER_REAL, signal.SIGALRM),
    (signal.ITIMER_VIRTUAL, signal.SIGVTALRM),
    (signal.ITIMER_PROF, signal.SIGPROF),
)
# DataLoader's handler of this only says which worker has died.
_NOT_SENT_BY_RANKS = {signal.SIGCHLD}


def timer_is_armed() -> bool:
    """Whether a handler in Python will run without anybody's doing."""
    return any(
        signal.getitimer(timer)[0] > 0 and callable(signal.getsignal(number))
        for timer, number in _TIMERS
    )


def hears_signals() -> bool:
    """Whether a handler in Python, ours and Python's own aside, runs if a signal is sent."""
    handlers = (signal.getsignal(number) for number in signal.valid_signals() - _NOT_SENT_BY_RANKS)
    return any(callable(handler) and not _is_ours(handler) for handler in handlers)


def _is_ours(handler: Callable) -> bool:
    module = getattr(handler, "__module__", None) or ""
    return handler is signal.default_int_handler or module.startswith("sandbox.")
