"""What an answer returned, as plain data: numbers and text as they are, all else by its type."""

import numbers
from typing import Any

from torch import Tensor


def as_plain(value: Any) -> Any:
    """Return a number, NumPy's too, or text as Python's own; anything else as its type's name."""
    if isinstance(value, bool | str):
        return value if type(value) in (bool, str) else type(value).__name__
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else type(value).__name__


def as_number(answer: object) -> float | str:
    """Return a number, also one in a tensor, or the name of what came instead."""
    if isinstance(answer, Tensor) and answer.numel() == 1:
        answer = answer.item()
    if isinstance(answer, str):
        return "str"
    number = as_plain(answer)
    return number if isinstance(number, str) else float(number)
