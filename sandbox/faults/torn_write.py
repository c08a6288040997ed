"""TornWrite: a file that was written well, as its writer saw it, turns out to be cut."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import LaunchError
from sandbox.faults.fault import Fault, check_amount, check_moment, check_rank
from sandbox.faults.moment import Moment
from sandbox.faults.watcher import Watcher

if TYPE_CHECKING:
    from sandbox.faults.injection import Injection


@dataclass(frozen=True, repr=False)
class TornWrite(Fault):
    """One file of `rank` keeps only the first `kept` of its bytes, though its writer saw success.

    It is the first file that matches `path`, a pattern such as "*.distcp" or "ckpt/*/.metadata",
    and that is closed (or, as DCP does with its metadata, renamed to such a name) after `at` has
    begun; by default the first of all. This is what a crash leaves of data that had not reached the
    disk yet: a shorter file, or with `zeroed` one of the right length that ends in zeros. (An fsync
    does not help here, as with a disk that says too early that it has written.)
    """

    path: str
    rank: int
    at: Moment | None = None
    kept: float = 0.5
    zeroed: bool = False

    def __post_init__(self) -> None:
        check_rank(self, self.rank)
        if self.at is not None:
            check_moment(self, self.at)
        check_amount(self, "kept", self.kept, least=0, above=False)
        if self.kept >= 1:
            raise LaunchError(f"TornWrite: kept is {self.kept!r}, expected a share below 1.")
        if not isinstance(self.path, str | os.PathLike) or not os.fspath(self.path):
            raise LaunchError(
                f"TornWrite: path is {self.path!r}, expected a pattern, as in path='*.distcp'."
            )

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the rank whose file is torn."""
        return (self.rank,)

    def matches(self, path: str) -> bool:
        """Whether an absolute path, or its end from some folder on, fits the pattern."""
        pattern = os.fspath(self.path)
        return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(
            path, os.path.join("*", pattern)
        )

    def tear(self, path: str) -> None:
        """Cut a file of the file system."""
        num_bytes = os.path.getsize(path)
        os.truncate(path, int(num_bytes * self.kept))
        if self.zeroed:
            os.truncate(path, num_bytes)

    def install(self, injection: Injection) -> None:
        """Watch which files are closed and renamed, from the moment on."""
        tearing = _Tearing(self, lambda: injection.tell(self))
        injection.files.watchers.append(tearing)
        if self.at is None:
            tearing.arm()
        else:
            injection.when(self.at, tearing.arm)


class _Tearing(Watcher):
    """Tears the first file of the right name, once it is armed."""

    def __init__(self, fault: TornWrite, tell: Callable[[], None]) -> None:
        self._fault = fault
        self._tell = tell
        self._is_armed = False
        self._written: set[str] = set()

    def arm(self) -> None:
        self._is_armed = True

    def closed(self, path: str) -> None:
        self._written.add(path)
        if self._is_armed and self._fault.matches(path) and os.path.getsize(path):
            self._is_armed = False
            self._tell()
            self._fault.tear(path)

    def renamed(self, source: str, target: str) -> None:
        if source in self._written:
            self._written.remove(source)
            self.closed(target)
