"""The changes that a rank makes to files: counts them, and gets into the middle of a write."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sandbox.faults.moment import FileChange, Moment
from sandbox.faults.watcher import Change, ChangeKind, Watcher

if TYPE_CHECKING:
    from sandbox.faults.files import Files


class FileChanges(Watcher):
    """Counts changes; `interrupt` acts at the one that this thread is about to make."""

    def __init__(self, files: Files, reach: Callable[[Moment], None]) -> None:
        self._reach = reach
        self._numbers = itertools.count(1)
        self._here = _Here()
        files.watchers.append(self)

    def changing(self, change: Change) -> None:
        """Count it, and let happen what shall happen at it."""
        self._here.is_writing = change.kind is ChangeKind.WRITE
        self._here.actions = []  # what is left here was of a write that failed
        self._reach(FileChange(next(self._numbers)))

    def interrupt(self, action: Callable[[], None]) -> None:
        """Have `action` done when half of a write is on disk, and before any other change."""
        if self._here.is_writing:
            self._here.actions.append(action)
        else:
            action()

    def admit(self, path: str, num_bytes: int) -> int:
        """Let half of a write pass."""
        return num_bytes // 2 if self._here.actions else num_bytes

    def written(self, path: str, num_bytes: int) -> None:
        """Act in the middle of the write."""
        actions, self._here.actions = self._here.actions, []
        for action in actions:
            action()


class _Here(threading.local):
    """What the calling thread is doing."""

    is_writing = False

    def __init__(self) -> None:
        self.actions: list[Callable[[], None]] = []


@contextlib.contextmanager
def record_file_changes() -> Iterator[list[Change]]:
    """Yield a list that takes in every change of files that this process makes meanwhile.

    For a function that is called anew on a rank, its n-th entry is what `FileChange(n)` names. So
    `[(c.kind, c.path) for c in changes]`, returned by each rank, lists all points at which a rank
    can be killed. What is counted, and what is not seen, is said in files.py.
    """
    from sandbox.faults.files import Files  # which imports torch: faults are named without it

    with Files() as files:
        recording = _Recording()
        files.watchers.append(recording)
        yield recording.changes


class _Recording(Watcher):
    """Keeps the changes."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def changing(self, change: Change) -> None:
        self.changes.append(change)
