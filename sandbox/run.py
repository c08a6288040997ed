"""What a launch returns: the ranks' results, and what they did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sandbox.errors import NotTrackedError
from sandbox.failure import count_ranks
from sandbox.faults.injected import Injected, list_faults
from sandbox.ledger import Ledger
from sandbox.memory.history import Memory

NOT_TRACKED = (
    "the memory of this run was not tracked. Hint: pass memory=True, as in "
    "sandbox.launch(fn, memory=True); in a cell, %%ranks --memory."
)


@dataclass(frozen=True)
class Run:
    """One call on all ranks, as it went."""

    world_size: int
    results: list[Any]  # one per rank; tensors of GPUs as copies on the CPU
    ledger: Ledger
    output: list[str]
    duration_s: float
    # Per rank, (number, when it ended in seconds since the call of launch) of each optimizer step.
    steps: list[list[tuple[int, float]]] = field(default_factory=list)
    waited_s: float = 0.0  # before the ranks could start: the warm process was importing
    tracked_memory: Memory | None = None
    faults: tuple[Injected, ...] = ()  # those that happened, in the order in which they did
    backend: str = "gloo"  # or "nccl"

    @property
    def memory(self) -> Memory:
        """What each rank held over time, by category; of a call with `memory=True`."""
        if self.tracked_memory is None:
            raise NotTrackedError(NOT_TRACKED)
        return self.tracked_memory

    def __repr__(self) -> str:
        ranks = count_ranks(self.world_size)
        injected = f", injected: {list_faults(self.faults)}" if self.faults else ""
        return f"Run({ranks}, {self.duration_s:.3g} s, {len(self.ledger)} collectives{injected})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from sandbox.pictures import run_picture

        return run_picture.bundle(self)

    def _ipython_display_(self) -> None:
        from sandbox.pictures import selectors

        selectors.show(self)
