"""Calls functions at their time, in a thread that exists only while there is something to wait for.

It is not one of `threading`'s: those count as threads of the learner's that may still do something.
"""

from __future__ import annotations

import _thread
import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Timer:
    """One queue of calls, each at a time of time.monotonic()."""

    def __init__(self) -> None:
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()  # of equal times, first come first served
        self._changed = threading.Condition()
        self._runs = False

    def at(self, time_s: float, function: Callable[[], None]) -> None:
        """Call `function` at `time_s`."""
        with self._changed:
            heapq.heappush(self._calls, (time_s, next(self._numbers), function))
            self._changed.notify()
            if not self._runs:
                self._runs = True
                _thread.start_new_thread(self._serve, ())

    def _serve(self) -> None:
        while function := self._next():
            function()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next call to be due; None when there are none left."""
        with self._changed:
            while self._calls:
                left_s = self._calls[0][0] - time.monotonic()
                if left_s <= 0:
                    return heapq.heappop(self._calls)[2]
                self._changed.wait(left_s)
            self._runs = False
            return None
