"""The handle of an operation that completes later than its backend says: slow links carry it."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import torch

from sandbox.faults.slow_link import Link
from sandbox.faults.timer import Timer

NO_TIMEOUT = timedelta(0)


class Transfer(NamedTuple):
    """The slow links that an operation occupies, all for as long as the slowest takes."""

    links: tuple[Link, ...]
    duration_s: float


class LateWork:
    """Wraps a backend's Work: its waits return, and its future completes, no sooner than due.

    It is ready for the links when the backend has done its part: all members then have joined.
    From that follows when it is due. Waiting may run out of time, and be repeated.
    """

    def __init__(
        self,
        inner: Any,
        transfer: Transfer,
        future: Any,
        on_ready: Callable[[], None],
        timer: Timer,
    ) -> None:
        self.transfer = transfer
        self.delivered: Any = None if future is None else torch.futures.Future()
        self.ready_s: float | None = None
        self.error: Exception | None = None
        self._inner = inner
        self._future = future
        self._on_ready = on_ready
        self._timer = timer
        self._value: Any = None
        self._due_s = 0.0
        self._has_date = threading.Event()

    def follow(self) -> None:
        """Notice when the backend has done its part."""
        if self._future is None:
            _thread.start_new_thread(self._watch, ())
        else:
            self._future.add_done_callback(self._take)

    def deliver(self, due_s: float) -> None:
        """Complete at `due_s`."""
        self._due_s = due_s
        self._has_date.set()
        if self.delivered is not None:
            self._timer.at(due_s, self._complete)

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Block until the links have delivered, or RuntimeError after `timeout`."""
        end_s = time.monotonic() + (timeout or timedelta.max).total_seconds()
        if not self._has_date.wait(timeout.total_seconds() if timeout else None):
            raise RuntimeError("Timed out waiting for the operation.")
        if self.delivered is not None:
            self._inner.wait()  # done: to raise its error, and to fill the output
        if self.error is not None:
            raise self.error
        time.sleep(max(0.0, min(self._due_s, end_s) - time.monotonic()))
        if end_s < self._due_s:
            raise RuntimeError("Timed out waiting for a slow link.")
        return True

    def is_completed(self) -> bool:
        """Whether the links have delivered, or the backend has failed."""
        if not self._has_date.is_set():
            return False
        is_due = time.monotonic() >= self._due_s
        return is_due and (self.delivered is None or self._inner.is_completed())

    def synchronize(self) -> None:
        """Wait: there is no stream that could."""
        self.wait()

    def get_future(self) -> Any:
        """Return the future that completes when the links have delivered."""
        self._inner.get_future()  # raises where the backend has none
        return self.delivered

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _watch(self) -> None:
        """Wait for a backend's operation that has no future. Only once: gloo counts the waits."""
        try:
            self._inner.wait()
        except Exception as error:
            self.error = error
        self._become_ready()

    def _take(self, future: Any) -> None:
        """Keep what the backend's future says. Runs in a thread of the backend."""
        try:
            self._value = future.value()
        except Exception as error:
            self.error = error
        self._become_ready()

    def _become_ready(self) -> None:
        self.ready_s = time.monotonic()
        self._on_ready()

    def _complete(self) -> None:
        if self.error is None:
            self.delivered.set_result(self._value)
        else:
            self.delivered.set_exception(self.error)
