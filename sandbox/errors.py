"""Every error that running ranks can raise: one class per situation, one message each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.elastic.elastic_run import ElasticRun
    from sandbox.pictures.picture import Picture
    from sandbox.proving.wait_for import WaitFor
    from sandbox.run import Run


class SandboxError(Exception):
    """Raised when a launch did not end well; the subclasses say why.

    `rank` is the culprit (None where there is no single one), `site` the learner's own line as
    "file:line", and `run` what was recorded until then (its results are None where missing). Of an
    elastic launch `elastic` is all generations, `run` the last one's.
    """

    elastic: ElasticRun | None = None

    def __init__(
        self,
        message: str,
        *,
        rank: int | None = None,
        site: str | None = None,
        run: Run | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.rank = rank
        self.site = site
        self.run = run

    def add_lines(self, lines: Sequence[str]) -> None:
        """Append to the message what is known only where it was caught."""
        self.message = "\n".join([self.message.rstrip("\n"), *lines])
        self.args = (self.message,)

    def _render_traceback_(self) -> list[str]:
        """Show the message alone: IPython would print our frames above the learner's."""
        return [f"{type(self).__name__}: {self.message}"]


class LaunchError(SandboxError, ValueError):
    """Raised when the ranks cannot be started as asked: a bad argument, or no room for them."""


class RankError(SandboxError):
    """Raised when the function raised in a rank; the earliest failure is the culprit."""

    def __init__(
        self,
        message: str,
        *,
        rank: int,
        site: str | None,
        run: Run,
        exc_type: str,
        exc_message: str,
        traceback_text: str,
    ) -> None:
        super().__init__(message, rank=rank, site=site, run=run)
        self.exc_type = exc_type
        self.exc_message = exc_message
        self.traceback_text = traceback_text


class RankDiedError(SandboxError):
    """Raised when a rank's process ended by a signal or by os._exit."""


class ProvenError(SandboxError):
    """Raised when what the ranks have published proves them wrong; the subclasses say in what.

    `waits` tells, for each thread that waits, or each member of a group that disagrees, in what it
    is and which ranks it waits for.
    """

    def __init__(self, message: str, *, waits: tuple[WaitFor, ...] = (), **known: Any) -> None:
        super().__init__(message, **known)
        self.waits = waits

    @property
    def picture(self) -> Picture | None:
        """Who waits for whom, if that is known; a notebook shows it under the message."""
        from sandbox.pictures.waits import picture_of

        return picture_of(self)


class DeadlockError(ProvenError):
    """Raised when ranks are proven to wait for each other, or for one that has finished."""


class CollectiveMismatchError(ProvenError):
    """Raised when ranks of a group disagree on a collective, whether or not it would hang."""


class RankTimeoutError(SandboxError):
    """Raised when ranks are still busy at the timeout and no deadlock is proven."""


class PlacesJoinedError(SandboxError):
    """Raised when `Join` stopped the ranks; launch_elastic, which alone allows it, starts anew."""


class NotTrackedError(SandboxError, AttributeError):
    """Raised when the memory of a run is asked for, and its call was not to track it."""


class NotAvailableError(SandboxError, RuntimeError):
    """Raised when an optional library is asked for, and it or the GPU that it needs is missing."""


class RanksInterrupted(KeyboardInterrupt):
    """Raised when Stop (or Ctrl-C) ended a call; says whose variables were lost."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]
