"""Join: places for more ranks come (back) at a moment; an elastic launch starts anew with them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sandbox.errors import LaunchError
from sandbox.faults.fault import Fault, check_moment, is_whole
from sandbox.faults.moment import Moment

if TYPE_CHECKING:
    from sandbox.faults.injection import Injection


@dataclass(frozen=True, repr=False)
class Join(Fault):
    """`num_ranks` places more are there when rank 0 is at `at`, where it waits to be stopped.

    `sandbox.launch_elastic` then stops all ranks, which uses up no restart, and starts the function
    on as many as there are places for, up to its maximum. Where it has that many already, nothing
    happens.
    """

    num_ranks: int
    at: Moment
    needs_elastic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_whole(self.num_ranks) or self.num_ranks < 1:
            raise LaunchError(
                f"Join: num_ranks is {self.num_ranks!r}, expected a whole number from 1."
            )
        check_moment(self, self.at)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the rank whose moment it is."""
        return (0,)

    def install(self, injection: Injection) -> None:
        """Wait for the moment."""

        def wait_to_be_stopped() -> None:
            injection.tell(self)
            threading.Event().wait()

        injection.strike_at(self.at, wait_to_be_stopped)
