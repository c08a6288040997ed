"""The handle of an operation that completes later than its backend says: slow links carry it."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch

from sandbox.faults.timer import Timer

NO_TIMEOUT = timedelta(0)


class LateWork:
    """Wraps a backend's Work: its waits return, and its future completes, no sooner than due.

    The operation has arrived when the backend has done its part, as all members then have joined;
    what is due follows from that. Waiting may run out of time, and be repeated.
    """

    def __init__(
        self, inner: Any, future: Any, occupy: Callable[[float], float], timer: Timer
    ) -> None:
        self.delivered: Any = None if future is None else torch.futures.Future()
        self._inner = inner
        self._occupy = occupy
        self._timer = timer
        self._due_s: float | None = None
        self._error: Exception | None = None
        self._lock = threading.Lock()
        self._has_arrived = threading.Event()
        if future is not None:
            future.add_done_callback(self._arrive)
        else:
            _thread.start_new_thread(self._watch, ())

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Block until the links have delivered, or RuntimeError after `timeout`."""
        end_s = time.monotonic() + (timeout or timedelta.max).total_seconds()
        if not self._has_arrived.wait(timeout.total_seconds() if timeout else None):
            raise RuntimeError("Timed out waiting for the operation.")
        if self.delivered is not None:
            self._inner.wait()  # done: to raise its error, and to fill the output
        if self._error is not None:
            raise self._error
        assert self._due_s is not None
        time.sleep(max(0.0, min(self._due_s, end_s) - time.monotonic()))
        if end_s < self._due_s:
            raise RuntimeError("Timed out waiting for a slow link.")
        return True

    def is_completed(self) -> bool:
        """Whether the links have delivered, or the backend has failed."""
        if not self._has_arrived.is_set():
            return False
        is_due = self._due_s is None or time.monotonic() >= self._due_s
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
            self._due_s = self._occupy(time.monotonic())
        except Exception as error:
            self._error = error
        self._has_arrived.set()

    def _arrive(self, future: Any) -> None:
        """Occupy the links from now on. Runs in a thread of the backend."""
        try:
            value = future.value()
        except Exception as error:
            self._has_arrived.set()
            self.delivered.set_exception(error)
            return
        self._due_s = self._occupy(time.monotonic())
        self._has_arrived.set()
        self._timer.at(self._due_s, lambda: self.delivered.set_result(value))
