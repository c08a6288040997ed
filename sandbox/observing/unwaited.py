"""Asynchronous operations of the learner's own lines that nobody has waited for."""

from __future__ import annotations

import weakref
from types import FrameType
from typing import Any

from torch.distributed import c10d_logger, distributed_c10d

from sandbox.observing import callsite
from sandbox.source import is_learners

_WAYS = (c10d_logger.__file__, distributed_c10d.__file__)  # between a learner's line and a group
MAX_OPEN = 1000  # handles that are kept in view; of a program that drops more, these tell enough


def is_from_learner(frame: FrameType) -> bool:
    """Whether a line of the learner's called torch.distributed itself, and got the handle."""
    above: FrameType | None = frame
    while above is not None:
        name = above.f_code.co_filename
        if name not in _WAYS and not callsite.is_ours(above):
            return is_learners(name)
        above = above.f_back
    return False


class Unwaited:
    """The handles that a rank has given out, until somebody waits, or asks for their state."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[weakref.ref[Any], str, str]] = {}

    def add(self, number: int, work: Any, op: str, frame: FrameType) -> None:
        """Keep the handle of an operation in view, if the learner's own line has it."""
        if len(self._open) < MAX_OPEN and is_from_learner(frame):
            site = callsite.find(frame)
            assert site is not None
            self._open[number] = weakref.ref(work), op, site

    def settle(self, number: int) -> None:
        """Note that somebody waits, polls, or has taken the future."""
        self._open.pop(number, None)

    def clear(self) -> None:
        """Forget all: the call did not end well, or the groups are gone."""
        self._open.clear()

    def take(self, *, is_over: bool) -> list[tuple[str, str]]:
        """Return operation and site of those that nobody can wait for any more, each once.

        A handle that is gone was dropped; one that lives may still be waited for, unless the
        rank's program `is_over`.
        """
        found = []
        for number, (handle, op, site) in list(self._open.items()):
            if is_over or handle() is None:
                self.settle(number)
                found.append((op, site))
        return list(dict.fromkeys(found))
