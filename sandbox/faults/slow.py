"""Slow: a rank computes as if its processor were slower by a factor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sandbox.faults.fault import Fault, check_amount, check_rank

if TYPE_CHECKING:
    from sandbox.faults.injection import Injection


@dataclass(frozen=True, repr=False)
class Slow(Fault):
    """What `rank` computes takes `factor` times as long.

    Before each collective, optimizer step and save of the rank, and at the end of its call, the
    thread that gets there sleeps `factor - 1` times the CPU time that it has used since the last of
    these. So waiting is not prolonged, and neither is what the machine's other load takes away.
    """

    rank: int
    factor: float
    tells: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_rank(self, self.rank)
        check_amount(self, "factor", self.factor, least=1, above=False)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the rank that is slow."""
        return (self.rank,)

    def install(self, injection: Injection) -> None:
        """Sleep at every moment; the end of the call is one."""
        stretch = Stretch(self.factor)
        injection.always.append(stretch)


class Stretch:
    """Sleeps in proportion to the CPU time that the calling thread has used since the last time."""

    def __init__(
        self,
        factor: float,
        cpu_time: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._factor = factor
        self._cpu_time = cpu_time
        self._sleep = sleep
        self._threads = threading.local()
        self._threads.mark_s = cpu_time()

    def __call__(self) -> None:
        """Make what was computed take as long as it shall."""
        now_s = self._cpu_time()
        used_s = now_s - getattr(self._threads, "mark_s", now_s)  # a thread's first: unknown
        self._sleep((self._factor - 1) * used_s)
        self._threads.mark_s = self._cpu_time()
