"""Which line of the learner's a collective comes from: a walk up the stack, cheap per call."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import torch
from torch.autograd.graph import _engine_run_backward

from sandbox.source import is_learners  # cached by file name

_TORCH_DISTRIBUTED = os.path.join("torch", "distributed", "")
_HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def find(start: FrameType) -> str | None:
    """Return "file:line" of the learner's frame nearest to `start`.

    Where there is none (a library's own thread), the nearest frame above torch.distributed. In
    autograd's threads, which serve GPUs, and where there is no frame but ours: what the main thread
    runs.
    """
    site = _find_learners(start)
    if site is None and not _is_autograds(start):
        site = _find_library(start)
    if site is None and (_is_autograds(start) or all(map(is_ours, _walk(start)))):
        main = sys._current_frames().get(threading.main_thread().ident or 0)
        site = main and _find_learners(main)
    return site


def _is_autograds(start: FrameType) -> bool:
    """Whether autograd's own thread runs a backward pass: it is in one that no frame has called."""
    if torch._C._current_graph_task_id() == -1:
        return False
    return all(frame.f_code is not _engine_run_backward.__code__ for frame in _walk(start))


def _find_learners(start: FrameType) -> str | None:
    frame: FrameType | None = start
    while frame is not None:
        if is_learners(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _find_library(start: FrameType) -> str | None:
    for frame in _walk(start):
        name = frame.f_code.co_filename
        if _TORCH_DISTRIBUTED not in name and not name.startswith("<") and not is_ours(frame):
            return f"{name}:{frame.f_lineno}"
    return None


def _walk(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_ours(frame: FrameType) -> bool:
    """Whether it is a frame of sandbox's own."""
    return frame.f_code.co_filename.startswith(_HERE)
