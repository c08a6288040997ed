"""What a fault is told about the files that its rank writes, and may do to them."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class ChangeKind(enum.StrEnum):
    """What is done to a file or folder, named as in `os`; a replace is a rename, and so on."""

    OPEN = "open"  # only if it may create the file, or truncates it
    WRITE = "write"
    CLOSE = "close"
    TRUNCATE = "truncate"
    FSYNC = "fsync"
    RENAME = "rename"
    REMOVE = "remove"
    MKDIR = "mkdir"
    RMDIR = "rmdir"
    LINK = "link"
    SYMLINK = "symlink"


@dataclass(frozen=True)
class Change:
    """One change that a process is about to make; of a rename, `path` is the new name."""

    kind: ChangeKind
    path: str


class Watcher:
    """Follows what changes files. Paths are absolute."""

    def changing(self, change: Change) -> None:
        """Note that a change is about to be made; that it succeeds is not said."""

    def admit(self, path: str, num_bytes: int) -> int:
        """Return how many of these bytes may be written now, or raise OSError."""
        return num_bytes

    def written(self, path: str, num_bytes: int) -> None:
        """Note that bytes have been written."""

    def closed(self, path: str) -> None:
        """Note that a file is complete, as its writer sees it."""

    def renamed(self, source: str, target: str) -> None:
        """Note that a file has another name."""
