"""Runs a function in a rank with its memory tracked: what `memory=True` asks for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def call_tracked(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `fn` and return what it returns; publish samples of this rank's memory meanwhile."""
    from sandbox.memory.taps import tapped
    from sandbox.memory.tracker import Tracker
    from sandbox.observing import observe  # these import torch; who sends this function need not

    recorder = observe.recorder()
    tracker = Tracker(recorder.rank, recorder.publish, sys._getframe())
    with tapped(tracker):
        tracker.start()
        try:
            with tracker:
                return fn(*args, **kwargs)
        finally:
            tracker.stop()
