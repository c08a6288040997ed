"""Shows the last values of a cell on all ranks: tensors side by side, pictures once, else text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.failure import describe_others
from sandbox.pictures.cell_value import TensorValue
from sandbox.pictures.picture import Drawn
from sandbox.pictures.tensors import TensorPicture
from sandbox.ranks.output import show


def show_values(values: Mapping[int, Any]) -> None:
    """Show what `cell_value.capture` returned on the ranks; what is the same on several, once."""
    from IPython.display import display

    kinds = {type(value) for value in values.values()}
    if len(kinds) == 1 and kinds <= {TensorValue} and len({v.text for v in values.values()}) > 1:
        display(TensorPicture(values))
        return
    texts = {rank: _text(value) for rank, value in values.items() if not isinstance(value, Drawn)}
    show("".join(f"{line}\n" for line in describe_others(texts)))
    shown: list[Drawn] = []
    for value in values.values():
        if isinstance(value, Drawn) and value not in shown:
            shown.append(value)
            display(value)


def _text(value: TensorValue | str) -> str:
    return value.text if isinstance(value, TensorValue) else value
