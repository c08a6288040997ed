"""Kill: a rank's process ends at a moment, as by SIGKILL from outside."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.faults.fault import Fault, check_moment, check_rank
from sandbox.faults.moment import Moment

if TYPE_CHECKING:
    from sandbox.faults.injection import Injection


@dataclass(frozen=True, repr=False)
class Kill(Fault):
    """The process of `rank` is killed at `at`; the run raises RankDiedError, as for any death."""

    rank: int
    at: Moment

    def __post_init__(self) -> None:
        check_rank(self, self.rank)
        check_moment(self, self.at)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the rank that dies."""
        return (self.rank,)

    def install(self, injection: Injection) -> None:
        """Wait for the moment."""

        def die() -> None:
            injection.tell(self)
            os.kill(os.getpid(), signal.SIGKILL)

        injection.strike_at(self.at, die)
