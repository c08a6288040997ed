"""Which line of the learner's a collective comes from: a walk up the stack, cheap per call."""

from __future__ import annotations

import os
from types import FrameType

from sandbox.source import is_learners  # cached by file name

_TORCH_DISTRIBUTED = os.path.join("torch", "distributed", "")
_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def find(start: FrameType) -> str | None:
    """Return "file:line" of the learner's frame nearest to `start`.

    Where there is none (a library's own thread), the nearest frame above torch.distributed.
    """
    frame: FrameType | None = start
    while frame is not None:
        if is_learners(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return _find_library(start)


def _find_library(start: FrameType) -> str | None:
    frame: FrameType | None = start
    while frame is not None:
        name = frame.f_code.co_filename
        if _TORCH_DISTRIBUTED not in name and not name.startswith((_HERE, "<")):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return None
