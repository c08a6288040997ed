"""A fault that happened in a run, as plain data: which one, on which rank, and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.faults.fault import Fault


@dataclass(frozen=True)
class Injected:
    """One fault, as it happened on one rank; times are seconds since the call of launch.

    What slows a rank or links has no moment: it holds for the whole call.
    """

    fault: Fault
    rank: int | None  # None: it concerns several
    start_s: float | None = None  # None: from the beginning
    end_s: float | None = None  # of a Pause: when the rank went on


def list_faults(injected: Iterable[Injected]) -> str:
    """Return the faults in one line, each once: "Kill(rank=2, at=Step(3)), Slow(0, factor=2)"."""
    return ", ".join(dict.fromkeys(repr(each.fault) for each in injected))
