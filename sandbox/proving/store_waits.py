"""Who waits for which key of a store: any rank that may act could set it."""

from __future__ import annotations

from sandbox.observing.record import Issue
from sandbox.proving.operation import Key, Operation


class StoreWait(Operation):
    """All waits for one key. Keys of the same name in two stores are taken for one."""

    @property
    def helpers(self) -> set[int]:
        """Every rank: another thread of one that waits for the key may yet set it."""
        return set(self.ranks)


class StoreWaits:
    """All waits for stores in a world."""

    def __init__(self, world_size: int) -> None:
        self._everyone = tuple(range(world_size))
        self._running: dict[tuple[int, int], Key] = {}  # by rank and number
        self.operations: dict[Key, StoreWait] = {}

    def issue(self, rank: int, issue: Issue) -> None:
        """Note that a rank looks for a key in vain."""
        assert issue.call.key is not None
        key = self._running[rank, issue.number] = ("store", issue.call.key)
        wait = StoreWait("", None, self._everyone, self._everyone)
        self.operations.setdefault(key, wait).issued[rank] = issue

    def find(self, rank: int, number: int) -> Key | None:
        """Return what a rank waits for under this number, if that is a key."""
        return self._running.get((rank, number))

    def end(self, rank: int, number: int) -> None:
        """Note that a rank no longer waits, if it did."""
        key = self._running.pop((rank, number), None)
        if key is None:
            return
        del self.operations[key].issued[rank]
        if not self.operations[key].issued:
            del self.operations[key]
