"""Waits for a key of a store: Ctrl-C gets through, and a long one is published.

Every class of stores has its waits from `dist.Store`; what C++ waits for does not come by here.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from types import FrameType
from typing import Any

import torch.distributed as dist

from sandbox.event import Op
from sandbox.observing.describe_call import without_tensor
from sandbox.observing.elsewhere import TICK, run_elsewhere
from sandbox.observing.record import NO_GROUP, Call
from sandbox.observing.recorder import IMPATIENT_S, Lane, Recorder

POLL_S = 0.01  # FileStore's own wait looks as often
MAX_KEY_CHARS = 200  # a record must stay short
_OPS = {"get": Op.STORE_GET, "multi_get": Op.STORE_GET, "wait": Op.STORE_WAIT}
_torch_wait = dist.Store.wait


def install(recorder: Recorder) -> None:
    """Observe all stores of this process."""
    for name, op in _OPS.items():
        setattr(dist.Store, name, _observed(recorder, op, getattr(dist.Store, name)))


def _observed(recorder: Recorder, op: Op, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: dist.Store, *args: Any, **kwargs: Any) -> Any:
        asked, *rest = (*args, *kwargs.values(), None)
        keys = [asked] if isinstance(asked, str) else list(asked)
        if not self.check(keys):
            timeout = rest[0] or self.timeout  # type: ignore[attr-defined]  # the stubs lack it
            if timeout.total_seconds() < IMPATIENT_S:
                return run_elsewhere(lambda: original(self, *args, **kwargs), lambda: None)
            call = without_tensor(op)._replace(key=", ".join(keys)[:MAX_KEY_CHARS])
            _wait_for(self, keys, timeout, recorder, call, sys._getframe())
        return original(self, *args, **kwargs)

    return method


def _wait_for(
    store: dist.Store,
    keys: list[str],
    timeout: timedelta,
    recorder: Recorder,
    call: Call,
    frame: FrameType,
) -> None:
    """Look for the keys again and again: a wait in C++ would keep the store and its thread busy."""
    event = recorder.issue(Lane(NO_GROUP, ()), call, frame, in_order=False)
    start_s = told_s = checked_s = time.monotonic()
    try:
        while not store.check(keys):
            if checked_s - told_s > TICK.total_seconds():
                told_s = checked_s
                event.wait(checked_s)
            if checked_s - start_s > timeout.total_seconds():
                _torch_wait(store, keys, timedelta(milliseconds=1))  # raises, in torch's words
            time.sleep(POLL_S)
            checked_s = time.monotonic()  # the key is not set now if the next look says so
    except BaseException:
        event.leave()
        raise
    event.end()
