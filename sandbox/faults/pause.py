"""Pause: a rank's process stops at a moment, all its threads, and goes on after a while."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.faults.fault import Fault, check_amount, check_moment, check_rank
from sandbox.faults.moment import Moment

if TYPE_CHECKING:
    from sandbox.faults.injection import Injection


@dataclass(frozen=True, repr=False)
class Pause(Fault):
    """The process of `rank` stops at `at` (SIGSTOP) and goes on `for_s` seconds later (SIGCONT).

    The others wait for it, which is no deadlock. The pause counts towards the run's `timeout_s`.
    """

    rank: int
    at: Moment
    for_s: float

    def __post_init__(self) -> None:
        check_rank(self, self.rank)
        check_moment(self, self.at)
        check_amount(self, "for_s", self.for_s, least=0, above=True)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the rank that stops."""
        return (self.rank,)

    def install(self, injection: Injection) -> None:
        """Wait for the moment."""

        def stop() -> None:
            injection.tell(self)
            # Who is stopped cannot wake itself. It first stops itself only once the other runs.
            script = f"echo; sleep {float(self.for_s):f}; kill -CONT {os.getpid()}"
            with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as waker:
                assert waker.stdout is not None
                waker.stdout.readline()
                os.kill(os.getpid(), signal.SIGSTOP)
            injection.tell(self, is_over=True)

        injection.strike_at(self.at, stop)
