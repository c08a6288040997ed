"""What one run of a training loop did, seen from outside, and its epochs one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from grader import storage
from grader.fsdp01.loop_watch import LoopStep
from grader.storage import Report


@dataclass(frozen=True)
class Epoch:
    """One epoch: its number, whether a run was resumed for it, each rank's steps and report."""

    number: int
    is_resumed: bool
    steps: list[list[LoopStep]]
    reports: list[Report]

    def batches(self) -> list[Tensor]:
        """Return the global batch of each step: all ranks' samples, rank 0's first."""
        ranks = [[step.tokens for step in steps] for steps in self.steps]
        return [torch.cat(parts) for parts in zip(*ranks, strict=True)]


@dataclass(frozen=True)
class LoopRun:
    """One call of the loop on all ranks, asked for the epochs `first`, …, `stop` - 1.

    `steps` and `reports` hold a list per rank; `num_checkpoints` are stored when it has ended.
    """

    first: int
    stop: int
    steps: list[list[LoopStep]]
    reports: list[list[Report]]
    num_checkpoints: int

    @classmethod
    def stored_at(cls, path: str, first: int, stop: int, steps: list[list[LoopStep]]) -> Self:
        """Return a run whose reports and checkpoints lie at `path`, the storage of Ray Train."""
        reports = storage.read_reports(Path(path), world_size=len(steps))
        return cls(first, stop, steps, reports, len(storage.checkpoints(Path(path))))

    @property
    def numbers(self) -> range:
        """Return the numbers of the epochs that were asked for."""
        return range(self.first, self.stop)

    def epochs(self, num_steps: int) -> list[Epoch]:
        """Return the epochs, of `num_steps` each; what is beyond belongs to the last one."""
        return [
            Epoch(
                number=number,
                is_resumed=place == 0 and self.first > 0,
                steps=[_part(steps, place, num_steps, len(self.numbers)) for steps in self.steps],
                reports=[reports[place] for reports in self.reports],
            )
            for place, number in enumerate(self.numbers)
        ]


def _part(steps: Sequence[LoopStep], place: int, num_steps: int, num_epochs: int) -> list[LoopStep]:
    is_last = place == num_epochs - 1
    return list(steps[place * num_steps : None if is_last else (place + 1) * num_steps])
