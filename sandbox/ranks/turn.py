"""Whose turn it is: a world serves one thread at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from sandbox.errors import LaunchError

PATIENCE_S = 0.5


class Turn:
    """A lock that refuses a second thread in words, or takes over from it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Hold the turn; a LaunchError where another call has it."""
        if not self._lock.acquire(blocking=False):
            raise LaunchError(
                "this World is running another call. Hint: give each thread a World of its own."
            )
        try:
            yield
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def taken_over(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Hold the turn once the other call has ended; until then, `interrupt` it now and then."""
        while not self._lock.acquire(timeout=PATIENCE_S):
            interrupt()
        try:
            yield
        finally:
            self._lock.release()
