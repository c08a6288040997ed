"""A rank's standard streams: all that it writes goes to its owner, and it reads from nowhere."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, NoReturn


class _NoKeyboard(io.TextIOBase):
    """What a rank reads from: input() and breakpoint() say what to do instead."""

    def readline(self, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(
            "a rank has no keyboard. Hint: print what you want to see, or return it."
        )


def redirect(output: int) -> None:
    """Send descriptors 1 and 2, C++ and NCCL included, to the owner; read from nowhere."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(null)
    os.close(output)
    sys.stdin = _NoKeyboard()
    sys.breakpointhook = sys.stdin.readline
    sys.stdout = os.fdopen(1, "w", 1, "utf-8", "replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "replace", closefd=False)
