"""What a rank holds: each tensor's shard as plain data, and how it compares with the truth."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

# float64 on both sides; another order of summation moves values of size 1 by some 1e-15.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Shard:
    """One rank's part of one tensor: its values, where they belong, and the bytes behind them.

    `placements` and `mesh` (the mesh's ranks, as nested lists) are None for a plain tensor.
    """

    name: str
    shape: tuple[int, ...]
    placements: tuple[str, ...] | None
    mesh: list | None
    first_row: int
    local: Tensor
    storage_bytes: int


def shards_of(named_tensors: Iterable[tuple[str, Tensor | None]]) -> dict[str, Shard]:
    """Return the local part of each tensor by name, copied to the CPU; None is left out."""
    return {name: _shard_of(name, tensor) for name, tensor in named_tensors if tensor is not None}


@torch.no_grad()
def _shard_of(name: str, tensor: Tensor) -> Shard:
    if type(tensor) is not DTensor and not isinstance(tensor, DTensor):
        return Shard(name, tuple(tensor.shape), None, None, 0, _copy(tensor), _bytes(tensor))
    local = tensor.to_local()
    _, offset = compute_local_shape_and_global_offset(
        tensor.shape, tensor.device_mesh, tensor.placements
    )
    return Shard(
        name=name,
        shape=tuple(tensor.shape),
        placements=tuple(map(str, tensor.placements)),
        mesh=tensor.device_mesh.mesh.tolist(),
        first_row=offset[0] if offset else 0,
        local=_copy(local),
        storage_bytes=_bytes(local),
    )


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", copy=True)


def _bytes(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def chunk_rows(num_rows: int, rank: int, world_size: int) -> tuple[int, int]:
    """Return (first, stop) of the rows that torch.chunk gives `rank`: full shares first."""
    share = -(-num_rows // world_size)
    return min(rank * share, num_rows), min((rank + 1) * share, num_rows)


def padded_numel(shape: Sequence[int], world_size: int) -> int:
    """Return the elements of a parameter with dim 0 rounded up to a multiple of `world_size`."""
    num_rows, *rest = shape
    padded_rows = -(-num_rows // world_size) * world_size
    return padded_rows * torch.Size(rest).numel()


@dataclass(frozen=True)
class Difference:
    """The largest difference from the truth: where, and the two values there."""

    rank: int
    name: str
    row: int
    expected: float
    came: float

    @property
    def where(self) -> str:
        """Return "rank 2, 'norm.weight', row 5"."""
        return f"rank {self.rank}, '{self.name}', row {self.row}"


def is_close(came: float, expected: float) -> bool:
    """Whether two numbers agree to the tolerance; NaN agrees with nothing."""
    return abs(came - expected) <= TOLERANCE * max(1.0, abs(expected))


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
    return gap.flatten()[worst].item(), Difference(rank, name, row, *values)
