"""What every benchmark prints: our median, the peer's, their ratio, and the goal."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Result:
    """One measurement in seconds (or in `unit`); a goal is an upper limit, or the peer's figure."""

    what: str
    ours: float
    goal: float | None = None
    peer: str = ""
    peers: float | None = None
    goal_ratio: float | None = None
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        """How many times as much the peer takes."""
        return None if self.peers is None else self.peers / self.ours

    @property
    def meets_goal(self) -> bool:
        """Whether the goals are reached here and now."""
        fast_enough = self.goal_ratio is None or (self.ratio or 0) >= self.goal_ratio
        limit = self.goal or self.peers
        return (limit is None or self.ours <= limit) and fast_enough


def median_s(call: Callable[[], object], repeats: int) -> float:
    """Return the median duration of `repeats` calls."""
    durations = []
    for _ in range(repeats):
        start_s = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start_s)
    return statistics.median(durations)


def show(results: list[Result]) -> None:
    """Print the table."""
    table = Table("what", "ours", "goal", "peer", "peer's", "ratio", "met")
    for result in results:
        peers = "" if result.peers is None else f"{result.peers:.3g} {result.unit}"
        ratio = "" if result.ratio is None else f"{result.ratio:.0f}×"
        if result.goal_ratio:
            ratio += f" (goal {result.goal_ratio:.0f}×)"
        ours = f"{result.ours:.3g} {result.unit}"
        goal = f"{result.goal:.3g} {result.unit}" if result.goal else ""
        met = "yes" if result.meets_goal else "NO"
        table.add_row(result.what, ours, goal, result.peer, peers, ratio, met)
    Console(width=140).print(table)
