"""The last value of a cell on one rank, as plain data: a tensor's numbers, a picture, a repr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandbox.pictures.picture import Drawn

MAX_COLUMNS, MAX_ROWS = 12, 8
MAX_CHARS = 56  # of a row of numbers


@dataclass(frozen=True)
class TensorValue:
    """What one rank has: `cells` by row, None of a tensor too large to print.

    `rows` are those of the whole tensor that a DTensor has here, `whole` is its shape.
    """

    text: str  # its repr
    shape: tuple[int, ...]
    dtype: str
    cells: tuple[tuple[str, ...], ...] | None
    rows: tuple[int, int] | None = None
    whole: tuple[int, ...] | None = None

    @property
    def summary(self) -> str:
        """Its dtype and shape, and which rows of the whole it has."""
        text = f"{self.dtype} {self.shape}"
        return f"{text}, {self.where} of {self.whole}" if self.where else text

    @property
    def where(self) -> str:
        """Which rows of the whole it has; nothing of a plain tensor."""
        if self.rows is None:
            return ""
        first, stop = self.rows
        if stop - first <= 1:
            return "no row" if stop == first else f"row {first}"
        return f"rows {first}–{stop - 1}"


def capture(value: Any) -> TensorValue | Drawn | str | None:
    """Return what to show of the last value of a cell on this rank: for most, its repr.

    No collective: of a DTensor it is what this rank has.
    """
    import torch
    from torch.distributed.tensor import DTensor

    if value is None or isinstance(value, Drawn):
        return value
    if not isinstance(value, torch.Tensor):
        return repr(value)
    rows = whole = None
    local = value.detach()
    if isinstance(value, DTensor):
        from sandbox.pictures.layout import layout_of

        local = value.to_local().detach()
        whole = tuple(value.shape)
        rank = torch.distributed.get_rank()
        layout = layout_of("", value)
        rows = next((part.rows for part in layout.parts if part.rank == rank), None)
    dtype = str(local.dtype).removeprefix("torch.")
    return TensorValue(repr(value), tuple(local.shape), dtype, _cells(local), rows, whole)


def _cells(tensor: Any) -> tuple[tuple[str, ...], ...] | None:
    """Return the numbers of a small tensor of at most two dims, one tuple a row."""
    if tensor.ndim > 2 or tensor.is_meta or tensor.is_sparse or tensor.numel() == 0:
        return None
    rows = tensor.reshape(-1, tensor.shape[-1] if tensor.ndim else 1)
    if rows.shape[0] > MAX_ROWS or rows.shape[1] > MAX_COLUMNS:
        return None
    cells = tuple(tuple(map(_number, row)) for row in rows.tolist())
    width = max(len(cell) for row in cells for cell in row)
    return cells if rows.shape[1] * (width + 2) <= MAX_CHARS else None


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
