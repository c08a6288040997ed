"""What a fault is told about the files that its rank writes, and may do to them."""

from __future__ import annotations


class Watcher:
    """Follows the files that are opened for writing. Paths are absolute."""

    def admit(self, path: str, num_bytes: int) -> int:
        """Return how many of these bytes may be written now, or raise OSError."""
        return num_bytes

    def written(self, path: str, num_bytes: int) -> None:
        """Note that bytes have been written."""

    def closed(self, path: str) -> None:
        """Note that a file is complete, as its writer sees it."""

    def renamed(self, source: str, target: str) -> None:
        """Note that a file has another name."""
