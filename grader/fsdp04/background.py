"""What a rank's other threads do while it trains: their writes are held, their collectives seen."""

import contextlib
import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

import torch.distributed as dist

from sandbox.faults.files import Files
from sandbox.faults.watcher import Watcher
from sandbox.observing.observed_group import ObservedGroup

TICK_S = 0.01
WAITS_S = 0.3  # who waits that long in a lock while the writing is held waits for the writing
PATIENCE_S = 5.0  # for a call that waits in a loop of its own
WAITING_FILES = ("threading.py", "queue.py", "concurrent/futures/_base.py")


class TrainingGroupUsedError(RuntimeError):
    """Raised in a thread that issues a collective on the group on which the rank trains."""


class OverlapError(RuntimeError):
    """Raised in a thread of a save that began while the one before was held."""


class Background(Watcher):
    """A context in which other threads than the main one can be held where they write files.

    They cannot use the default group: one order of collectives on it is all that ranks can keep.
    """

    def __init__(self) -> None:
        self.has_waited = False  # a call waited until what was held was written
        self.has_overlapped = False  # a call's own writing began while other writing was held
        self.uses_training_group = False
        self.main_has_written = False
        self._is_holding = False
        self._is_full = False
        self._held: set[int] = set()  # threads
        self._held_before: set[int] = set()  # those that were held when the last call began
        self._is_calling = False
        self._go = threading.Event()
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> Self:
        files = self._exits.enter_context(Files())
        files.watchers.append(self)
        operate: Any = ObservedGroup._operate
        training = dist.distributed_c10d._get_default_group()

        def watched(group: Any, *args: Any) -> Any:
            if not _is_main():
                self._refuse_overlap()
                if group is training:
                    self.uses_training_group = True
                    raise TrainingGroupUsedError("a thread beside training uses training's group.")
            return operate(group, *args)

        owner: Any = ObservedGroup
        owner._operate = watched
        self._exits.callback(setattr, owner, "_operate", operate)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.release()
        self._exits.close()

    @property
    def is_held(self) -> bool:
        """Whether a thread waits, in the middle of its writing, for `release`."""
        return bool(self._held)

    def hold(self) -> None:
        """Hold each other thread at its next write of a file."""
        self._go.clear()
        self._is_holding = True

    def release(self) -> None:
        """Let go what is held, and hold nothing any more."""
        self._is_holding = False
        self._held_before = set()
        self._go.set()

    def fill_disk(self) -> None:
        """Let every write of other threads fail from now on."""
        self._is_full = True

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function that may wait for what is held: then it is let go, and `has_waited`."""
        self._held_before = set(self._held)
        self._is_calling = True
        try:
            return function(*args)
        finally:
            self._is_calling = False

    def admit(self, path: str, num_bytes: int) -> int:
        """Hold the thread, or let it write all."""
        if _is_main():
            self.main_has_written = True
            return num_bytes
        if self._is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        self._refuse_overlap()
        if self._is_holding:
            self._wait()
        return num_bytes

    def _refuse_overlap(self) -> None:
        """Let no thread act for another save while that of the last call's beginning is held."""
        if self._held_before - {threading.get_ident()}:
            self.has_overlapped = True
            raise OverlapError("a save began while the one before was still being written.")

    def _wait(self) -> None:
        me = threading.get_ident()
        self._held.add(me)
        waits_s = begun_s = time.monotonic()
        while not self._go.wait(TICK_S):
            now_s = time.monotonic()
            if not self._is_calling:
                begun_s = now_s
            if not (self._is_calling and _main_waits_in_a_lock()):
                waits_s = now_s
            if now_s - waits_s > WAITS_S or now_s - begun_s > PATIENCE_S:
                self.has_waited = True
                self.release()
        self._held.discard(me)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _main_waits_in_a_lock() -> bool:
    ident = threading.main_thread().ident
    frame: FrameType | None = sys._current_frames().get(ident or 0)
    return frame is not None and frame.f_code.co_filename.endswith(WAITING_FILES)
