"""Parity with the truth: the largest difference between the ranks' shards and whole tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.mistakes import Mistake
from grader.shards import Shard
from grader.verdict import Failure

# float64 on both sides; another order of summation moves values of size 1 by some 1e-15.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Difference:
    """The largest difference from the truth: where, and the two values there."""

    rank: int
    name: str
    row: int
    expected: float
    came: float
    is_1d: bool = False

    @property
    def where(self) -> str:
        """Return "rank 2, 'head.weight', row 5"."""
        unit = "element" if self.is_1d else "row"
        return f"rank {self.rank}, '{self.name}', {unit} {self.row}"

    def as_failure(self, mistake: Mistake, what: str) -> Failure:
        """Return the failure that names this place and both values, to 12 digits."""
        expected, came = f"{what} {self.expected:.12g}", f"{self.came:.12g}"
        return Failure(mistake=mistake, expected=expected, came=came, where=self.where)


def is_close(came: float, expected: float) -> bool:
    """Whether two numbers agree to the tolerance; NaN agrees with nothing."""
    return abs(came - expected) <= TOLERANCE * max(1.0, abs(expected))


def is_close_in_float32(came: float, expected: float) -> bool:
    """Whether two numbers agree as far as float32 goes, some sums' rounding included."""
    return abs(came - expected) <= 8 * torch.finfo(torch.float32).eps * max(1.0, abs(expected))


def find_difference(
    shards_by_rank: Sequence[Mapping[str, Shard]], truth: Mapping[str, Tensor], scale: float = 1.0
) -> Difference | None:
    """Return the largest difference between the ranks' shards and `scale` times the truth."""
    found = [
        _difference(rank, name, shards.get(name), scale * whole)
        for rank, shards in enumerate(shards_by_rank)
        for name, whole in truth.items()
    ]
    beyond = [entry for entry in found if entry is not None]
    return max(beyond, key=lambda entry: entry[0])[1] if beyond else None


def _difference(
    rank: int, name: str, shard: Shard | None, whole: Tensor
) -> tuple[float, Difference] | None:
    """Return (how far beyond the tolerance, the difference), or None within it."""
    if shard is None:
        return float("inf"), Difference(rank, name, 0, whole.norm().item(), float("nan"))
    expected = whole[shard.first_row : shard.first_row + len(shard.local)]
    if expected.shape != shard.local.shape:
        return float("inf"), Difference(rank, name, 0, len(expected), len(shard.local))
    if expected.numel() == 0:
        return None
    came = shard.local.to(expected.dtype)
    gap = (came - expected).abs() / expected.abs().clamp(min=1.0)
    gap = torch.where(gap.isnan(), torch.inf, gap)
    worst = int(gap.argmax())
    if gap.flatten()[worst] <= TOLERANCE:
        return None
    row = shard.first_row + worst // max(1, expected[0].numel())
    values = expected.flatten()[worst].item(), came.flatten()[worst].item()
    return gap.flatten()[worst].item(), Difference(rank, name, row, *values, whole.ndim == 1)
