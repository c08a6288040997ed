"""Which step of the whole training each step of each generation was, told by the model's inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.fsdp04.train_watch import WatchedRank
from sandbox import toys

Row = tuple[int, ...]


@dataclass(frozen=True)
class GlobalStep:
    """One step as all ranks together took it: the inputs, sorted, and the id of each."""

    rows: list[Row]
    ids: list[int | None]  # None where the unmasked tokens are those of no sample


def global_steps(ranks: Sequence[WatchedRank], samples: Tensor, mask: int) -> list[GlobalStep]:
    """Return the steps that all ranks of a generation completed."""
    num_steps = min(len(rank.steps) for rank in ranks)
    steps = []
    for number in range(num_steps):
        rows = sorted(row for rank in ranks for row in rank.steps[number].inputs)
        steps.append(GlobalStep(rows, [id_of(row, samples, mask) for row in rows]))
    return steps


def id_of(row: Row, samples: Tensor, mask: int) -> int | None:
    """Return the id of the sample whose tokens these are, but for those that are masked."""
    tokens = torch.tensor(row)
    if tokens.shape != samples[0].shape:
        return None
    matches = ((samples == tokens) | (tokens == mask)).all(dim=1).nonzero().flatten().tolist()
    return matches[0] if len(matches) == 1 else None


def samples_of(config: Mapping[str, Any]) -> Tensor:
    """Return the tokens of every sample."""
    return toys.token_samples(range(config["num_samples"]), seq_len=config["seq_len"])


def place_of(step: GlobalStep, uninterrupted: Sequence[GlobalStep]) -> int | None:
    """Return the number of the uninterrupted run's step with the same inputs, if there is one."""
    return next((n for n, other in enumerate(uninterrupted) if other.rows == step.rows), None)


def place_by_ids(step: GlobalStep, uninterrupted: Sequence[GlobalStep]) -> int | None:
    """Return the number of the uninterrupted run's step with the same samples, if there is one."""
    ids = sorted(str(each) for each in step.ids)
    same = (sorted(str(each) for each in other.ids) == ids for other in uninterrupted)
    return next((number for number, is_same in enumerate(same) if is_same), None)
