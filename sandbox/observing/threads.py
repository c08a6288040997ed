"""Which other threads of a rank may still do something, while this one waits."""

from __future__ import annotations

import _thread
import concurrent.futures.thread
import gc
import sys
import threading
from types import CodeType, FrameType

from sandbox.observing import elsewhere

# Threads that libraries leave running and that never issue a collective, by the file they run in.
SERVICES = (
    "tqdm/_monitor.py",
    "multiprocessing/queues.py",
    "torch/utils/data/_utils/pin_memory.py",
    "sandbox/observing/elsewhere.py",  # for a thread that waits, and is seen itself
)
_POOL_WORKER = concurrent.futures.thread._worker.__code__
_OWNER_WAITS = ("sandbox/ranks/wire.py",)  # the main thread between two calls


class Siblings:
    """The other threads of this process, as one waiting thread sees them, look after look."""

    def __init__(self) -> None:
        self._idle: set[int] = set()  # pool workers that had nothing to do at the last look

    def running(self) -> tuple[int, ...]:
        """Return the threads that may act. A pool's worker is idle if two looks in a row say so."""
        me = threading.get_ident()
        if _thread._count() == 0 and me == threading.main_thread().ident:
            return ()
        stacks = _current_frames()  # of all: threading does not know what _thread started
        stacks.pop(me, None)
        idle = {ident for ident, frame in stacks.items() if _is_idle_worker(frame)}
        known, self._idle = self._idle & idle, idle
        return tuple(
            sorted(i for i, frame in stacks.items() if i not in known and not _is_passive(frame))
        )


def count_others(siblings: Siblings) -> int:
    """Return how many other threads may act, however they were started."""
    known = {thread.ident for thread in threading.enumerate()} | {threading.get_ident()}
    unknown = [ident for ident in _current_frames() if ident not in known]
    return len(siblings.running()) + len(unknown) - elsewhere.count_idle()


def _current_frames() -> dict[int, FrameType]:
    """Return each thread's frame. A garbage collection on the way could deadlock (gh-106883)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if was_enabled:
            gc.enable()


def _is_idle_worker(frame: FrameType) -> bool:
    return frame.f_code is _POOL_WORKER and frame.f_locals["work_queue"].empty()


def _is_passive(frame: FrameType) -> bool:
    """Whether the thread only waits for another to end, or for the owner, or serves a library."""
    return (
        _joins(frame)
        or _in_files(frame.f_code, _OWNER_WAITS)
        or _in_files(_entry(frame).f_code, SERVICES)
    )


def _joins(frame: FrameType) -> bool:
    """Whether the thread is in Thread.join() without a timeout."""
    if frame.f_code.co_name == "_wait_for_tstate_lock" and frame.f_back is not None:
        frame = frame.f_back  # Python 3.11 and 3.12
    is_join = frame.f_code is threading.Thread.join.__code__
    return is_join and frame.f_locals.get("timeout") is None


def _entry(frame: FrameType) -> FrameType:
    """Return the outermost frame above the threading module's own."""
    entry = frame
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename != threading.__file__:
            entry = frame
    return entry


def _in_files(code: CodeType, files: tuple[str, ...]) -> bool:
    return code.co_filename.replace("\\", "/").endswith(files)
