"""When a step's gradients are those that it uses: at its start, or behind its closure."""

from collections.abc import Callable
from typing import Any

Call = tuple[tuple[Any, ...], dict[str, Any]]  # (optimizer, closure), and by keyword


def record_gradients(record: Callable[[], None], args: tuple, kwargs: dict) -> Call | None:
    """Call `record` when the gradients of this `optimizer.step` are there.

    For a pre-hook of the step, which returns what this does: the call with its closure wrapped.
    """
    closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
    if closure is None:
        record()
        return None

    def recorded() -> Any:
        loss = closure()
        record()
        return loss

    return args[:1], {**kwargs, "closure": recorded}
