"""What answers may depend on besides arguments: hashes of texts, the clock, global randomness."""

import builtins
import contextlib
import random
import sys
import time
from collections.abc import Iterator

import numpy as np
import torch

from sandbox.source import is_learners

DAY_S = 86_400


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """Let answers run as in another Python, on another day: there a text has another `hash`."""
    true_hash, true_time = builtins.hash, time.time

    def other_hash(value: object) -> int:
        caller = sys._getframe(1).f_code.co_filename
        is_changed = _holds_text(value) and is_learners(caller)
        return true_hash((value, "elsewhere") if is_changed else value)

    builtins.hash = other_hash
    time.time = lambda: true_time() + DAY_S
    try:
        yield
    finally:
        builtins.hash, time.time = true_hash, true_time


def _holds_text(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return any(map(_holds_text, value))
    return isinstance(value, str | bytes)


def random_state() -> dict[str, str]:
    """Return the global random states, as texts to compare."""
    return {
        "torch": str(torch.get_rng_state().tolist()),
        "random": str(random.getstate()),
        "numpy": str(np.random.get_state(legacy=True)[1].tolist()),  # type: ignore[index]
    }
