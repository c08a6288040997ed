"""Runs what would block a thread of Python in C++ in another one, so that Ctrl-C gets through."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from datetime import timedelta
from typing import Any

# How long a wait may keep Python from seeing a signal; also how often a wait is looked at again.
TICK = timedelta(milliseconds=40)


class _Helper:
    """A thread that runs one function after the other.

    It is not one of `threading`'s: nobody waits for it, should it be stuck for good.
    """

    def __init__(self) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._function: Callable[[], Any] = _nothing
        self._has_work = _thread.allocate_lock()
        self._has_work.acquire()
        self.is_done = _thread.allocate_lock()
        self.is_done.acquire()
        _thread.start_new_thread(self._serve, ())

    def start(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._has_work.release()

    def _serve(self) -> None:
        while True:
            self._has_work.acquire()
            try:
                self.result, self.error = self._function(), None
            except BaseException as error:
                self.result, self.error = None, error
            self._function = _nothing
            self.is_done.release()


def _nothing() -> None:
    pass


_idle: list[_Helper] = []


def count_idle() -> int:
    """Return how many of our threads have nothing to do."""
    return len(_idle)


def run_elsewhere(function: Callable[[], Any], note: Callable[[], None]) -> Any:
    """Return `function()`, or raise what it raised; call `note` now and then while it runs."""
    helper = _idle.pop() if _idle else _Helper()
    helper.start(function)
    while not helper.is_done.acquire(timeout=TICK.total_seconds()):
        note()
    result, error = helper.result, helper.error
    helper.result = helper.error = None
    _idle.append(helper)
    if error is not None:
        raise error
    return result
