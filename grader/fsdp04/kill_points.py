"""The points of a save at which a rank can be killed, and a seeded choice among them."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.faults import Change, ChangeKind, FileChange, Kill

NUM_LAST = 4  # changes of rank 0 that are always among the chosen: around the commit


@dataclass(frozen=True)
class KillPoint:
    """The `number`-th change of files that `rank` makes: of a write half is done, else nothing."""

    rank: int
    number: int
    change: Change

    @property
    def fault(self) -> Kill:
        """Return the fault that kills the rank there."""
        return Kill(rank=self.rank, at=FileChange(self.number))

    @property
    def text(self) -> str:
        """Return "rank 1 was killed in the middle of its write to __1_0.distcp"."""
        kind, name = self.change.kind, Path(self.change.path).name
        if kind is ChangeKind.WRITE:
            return f"rank {self.rank} was killed in the middle of a write to {name}"
        return f"rank {self.rank} was killed before its {kind.value} of {name}"


def kill_points(changes: Sequence[Sequence[Change]]) -> list[KillPoint]:
    """Return every point of a save, given the changes that each rank makes in it."""
    return [
        KillPoint(rank, number, change)
        for rank, own in enumerate(changes)
        for number, change in enumerate(own, start=1)
    ]


def choose(points: Sequence[KillPoint], count: int, seed: int) -> list[KillPoint]:
    """Return `count` of the points, or all if there are fewer: rank 0's last, each kind, the rest.

    The same for the same points and seed.
    """
    rng = random.Random(seed)
    by_kind: defaultdict[ChangeKind, list[KillPoint]] = defaultdict(list)
    for point in points:
        by_kind[point.change.kind].append(point)
    last = [point for point in points if point.rank == 0][-NUM_LAST:]
    one_each = [rng.choice(by_kind[kind]) for kind in sorted(by_kind)]
    rest = rng.sample(points, len(points))
    chosen = list(dict.fromkeys([*last, *one_each, *rest]))[:count]
    return sorted(chosen, key=lambda point: (point.rank, point.number))
