"""The handle of an operation in flight: waits so that Ctrl-C gets through, and records the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch.autograd.graph import _engine_run_backward
from torch.autograd.variable import Variable

from sandbox.observing.elsewhere import TICK, run_elsewhere
from sandbox.observing.recorder import IMPATIENT_S, Published

NO_TIMEOUT = timedelta(0)  # torch's own default of Work.wait


class OnStream:
    """Stands for the handle that NCCL does not give of a synchronous operation.

    It returns None when the operation is on the caller's stream: whatever follows there comes after
    it. torch's C++ does not expect None of a group written in Python, and would crash at its wait.
    """

    def wait(self, _: timedelta) -> bool:
        """Return at once: the stream waits, not the caller."""
        return True

    def is_completed(self) -> bool:
        """Whether nobody has to wait any more."""
        return True


class ObservedWork(dist.Work):
    """A backend's Work, with its waits and its completion on record."""

    def __init__(
        self, inner: dist.Work, event: Published, *, patience_s: float, can_poll: bool, blocks: bool
    ) -> None:
        super().__init__()
        self._inner = inner
        self._event = event
        self._patience_s = patience_s  # the backend's own timeout
        self._can_poll = can_poll
        self._blocks = blocks  # False where wait() only orders streams

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Block until the operation is complete; Ctrl-C gets through."""
        self._event.settle()
        since_s = time.monotonic()
        if not self._blocks:
            self._event.wait(on_stream=True)
        try:
            done = self._wait(timeout)
        except BaseException:
            self._event.leave()
            raise
        if self._blocks:
            self._event.end(since_s)
        else:
            self._event.end_on_stream(since_s)
        return done

    def _wait(self, timeout: timedelta) -> bool:
        if not self._blocks:
            return self._inner.wait(timeout)
        if self._can_poll:
            return self._poll(timeout)
        # is_completed() of these stays False until somebody has waited, and a wait that runs out
        # of time would close gloo's connections.
        return run_elsewhere(lambda: self._inner.wait(timeout), lambda: self._note(timeout))

    def _poll(self, timeout: timedelta) -> bool:
        """Wait in short steps: gloo's collectives survive a wait that runs out of time."""
        left = timeout or timedelta.max
        while True:
            step = min(left, TICK)
            try:
                return self._inner.wait(step)
            except RuntimeError:
                if self._inner.is_completed():
                    return self._inner.wait()  # done just now, or its own error
                left -= step
                if not left:
                    raise
            self._note(timeout)

    def _note(self, timeout: timedelta) -> None:
        """Publish that this thread is blocked, unless it means to give up soon."""
        if (timeout.total_seconds() or self._patience_s) >= IMPATIENT_S:
            self._event.wait()

    def get_future(self) -> torch.futures.Future:
        """Return the backend's future; if C++ takes it during backward, wait for it at its end."""
        self._event.settle()
        caller = sys._getframe().f_back  # None in autograd's own threads, which serve GPUs
        if self._blocks and caller and caller.f_code is _engine_run_backward.__code__:
            EndOfBackward.wait_for(self)
        return self._inner.get_future()


def _delegate(name: str) -> Callable[..., Any]:
    def method(self: ObservedWork, *args: Any) -> Any:
        self._event.settle()
        return getattr(self._inner, name)(*args)

    return method


for _name in (
    "is_completed",
    "is_success",
    "exception",
    "result",
    "synchronize",
    "block_current_stream",
    "source_rank",
    "_source_rank",
    "get_future_result",
    "_get_duration",
    "_get_op_type",
):
    setattr(ObservedWork, _name, _delegate(_name))


class EndOfBackward:
    """Waits, at the end of a backward pass, for what C++ waits for there, where no signal gets in.

    DDP's reducer takes the future of each bucket's all_reduce during backward, and waits for them
    in a callback that it queues with its last bucket. Ours is queued with the first, so it runs
    before, and leaves nothing to wait for.
    """

    _works: ClassVar[dict[int, list[ObservedWork]]] = {}  # by autograd's number of the pass

    @classmethod
    def wait_for(cls, work: ObservedWork) -> None:
        """Have the backward pass that runs now end with `work.wait()`."""
        number = torch._C._current_graph_task_id()
        if number not in cls._works:
            # A pass that raised has not called back; what it left goes once it is complete.
            pending = {n: w for n, w in cls._works.items() if not all(x.is_completed() for x in w)}
            cls._works = pending | {number: []}
            Variable._execution_engine.queue_callback(lambda: cls._wait(number))
        cls._works[number].append(work)

    @classmethod
    def _wait(cls, number: int) -> None:
        for work in cls._works.pop(number, ()):
            work.wait()
