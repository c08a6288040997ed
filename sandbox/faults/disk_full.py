"""DiskFull: a folder takes so many bytes, and then no more."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import LaunchError
from sandbox.faults.fault import Fault, check_rank, is_whole
from sandbox.faults.watcher import Watcher

if TYPE_CHECKING:
    from sandbox.faults.injection import Injection


@dataclass(frozen=True, repr=False)
class DiskFull(Fault):
    """Under the folder `path`, writes fail with OSError ENOSPC after `after_bytes` bytes in all.

    As on a full disk, what still fits is written, so a part of a file is left. Each rank counts
    what it writes itself, in the order in which it does; removing files gives nothing back. Holds
    for `rank`, or for every rank. Not seen is what is not written through Python: see files.py.
    """

    path: str | os.PathLike[str]
    after_bytes: int
    rank: int | None = None

    def __post_init__(self) -> None:
        if self.rank is not None:
            check_rank(self, self.rank)
        if not is_whole(self.after_bytes) or self.after_bytes < 0:
            raise LaunchError(
                f"DiskFull: after_bytes is {self.after_bytes!r}, expected a whole number from 0."
            )
        if not isinstance(self.path, str | os.PathLike):
            raise LaunchError(f"DiskFull: path is {self.path!r}, expected that of a folder.")
        parent = os.path.dirname(os.path.abspath(self.path))
        if not os.path.isdir(parent) or os.path.isfile(self.path):
            raise LaunchError(
                f"DiskFull: path is {os.fspath(self.path)!r}, expected a folder, or one that can "
                f"be made in a folder that exists. Hint: check {parent!r}."
            )
        # The ranks work in the folder in which this is written, wherever they go.
        object.__setattr__(self, "path", os.path.realpath(self.path))

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the rank whose writes fail, if it is one."""
        return () if self.rank is None else (self.rank,)

    def concerns(self, rank: int) -> bool:
        """Whether writes of `rank` fail."""
        return self.rank is None or rank == self.rank

    def install(self, injection: Injection) -> None:
        """Watch what is written."""
        injection.files.watchers.append(_Disk(self, lambda: injection.tell(self)))


class _Disk(Watcher):
    """Counts what is written under the folder, and lets in what fits."""

    def __init__(self, fault: DiskFull, tell: Callable[[], None]) -> None:
        self._folder = os.path.join(fault.path, "")
        self._left = fault.after_bytes
        self._tell = tell

    def admit(self, path: str, num_bytes: int) -> int:
        if not path.startswith(self._folder):
            return num_bytes
        if num_bytes and not self._left:
            self._tell()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return min(num_bytes, self._left)

    def written(self, path: str, num_bytes: int) -> None:
        if path.startswith(self._folder):
            self._left -= num_bytes
