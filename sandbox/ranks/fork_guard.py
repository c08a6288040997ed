"""Whether the warm process may fork: no second thread, CUDA untouched; else, who is to blame."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable

CUDA_ERROR_NOT_INITIALIZED = 3  # cuda.h, CUresult


def runs_threads() -> str:
    """Return which threads run beside the main one; "" if there are none."""
    main = threading.main_thread()
    return ", ".join(thread.name for thread in threading.enumerate() if thread is not main)


def initialised_cuda() -> str:
    """Return who initialised CUDA in this process: torch, or any other library; "" if nobody.

    torch knows of itself alone. The driver knows of everybody: until somebody has called cuInit,
    every other function of it answers CUDA_ERROR_NOT_INITIALIZED and does nothing. It is asked only
    if it is loaded already. (Written for GPUs, run with a stand-in for the driver.)
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "torch.cuda"
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return ""
    answer = driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
    return "" if answer == CUDA_ERROR_NOT_INITIALIZED else "the driver, not by torch"


# What forbids to fork -> what is said of it. A forked process has the calling thread alone: a lock
# that another held is locked for ever. A CUDA context does not survive a fork at all.
FORBIDDEN: dict[Callable[[], str], str] = {
    initialised_cuda: (
        "{culprit} initialised CUDA ({found}) in the warm process, and processes forked from it "
        "could not use a GPU. Hint: at import nothing may be put on a GPU, and of torch.cuda only "
        "device_count() and is_available() be called; move the rest into functions."
    ),
    runs_threads: (
        "{culprit} started a thread ({found}) in the warm process, and processes forked from it "
        "could hang. Hint: at import no thread may be started; move that into a function."
    ),
}


class ForkGuard:
    """Looks after every import, so that the one to blame can be named at the next fork."""

    def __init__(self) -> None:
        self._refusals: dict[Callable[[], str], str] = {}
        self.look("what Python runs at its start (sitecustomize, .pth files)")

    def look(self, culprit: str) -> None:
        """Note what now forbids to fork: `culprit`, an import, is to blame if it is new."""
        for find, text in FORBIDDEN.items():
            found = find()
            if not found:
                self._refusals.pop(find, None)  # a thread that has ended
            elif find not in self._refusals:
                self._refusals[find] = text.format(culprit=culprit, found=found)

    def refusal(self) -> str:
        """Return why the process may not fork now, in words for the learner; "" if it may."""
        self.look("something after the imports")
        return "\n".join(self._refusals.values())
