"""How a call travels to the ranks: pickled by value, with clear words for what cannot be sent."""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Callable
from typing import Any

import cloudpickle

from sandbox.errors import LaunchError
from sandbox.memory.tracked_call import call_tracked
from sandbox.ranks import by_value, torch_ops, unsendable

CLOUDPICKLE_FILENAME = "<dynamic-code>"  # what it writes for co_filename, to be deterministic


class _CallPickler(cloudpickle.Pickler):
    """Keeps the file names of code, for tracebacks and call sites.

    Refuses tensors on a GPU: every rank would load them onto the same one.
    """

    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(obj, torch.Tensor) and obj.is_cuda:
            raise LaunchError(
                f"the function or its arguments hold a tensor on {obj.device}, shape "
                f"{tuple(obj.shape)}. Hint: pass it as .cpu(), and move it to sandbox.device() "
                "in the rank."
            )
        if isinstance(obj, types.CodeType):
            make, fields = self.dispatch_table[types.CodeType](obj)
            return make, tuple(obj.co_filename if f == CLOUDPICKLE_FILENAME else f for f in fields)
        if by_value.is_wrapper(obj):
            return by_value.reduce(obj)
        if torch_ops.is_operator(obj):
            return torch_ops.reduce(obj)
        return super().reducer_override(obj)


def dump_call(
    fn: Callable[..., Any], args: tuple, kwargs: dict[str, Any], *, memory: bool = False
) -> bytes:
    """Pickle `(fn, args, kwargs)`; a LaunchError says what cannot be sent and what to do.

    With `memory`, what is sent is the same call with the rank's memory tracked.
    """
    if not callable(fn):
        raise LaunchError(
            f"fn is {fn!r}, a {type(fn).__name__}; expected a function. "
            "Hint: pass f, not f(): the ranks call it."
        )
    buffer = io.BytesIO()
    call: tuple = (call_tracked, (fn, *args), kwargs) if memory else (fn, args, kwargs)
    try:
        _CallPickler(buffer).dump(call)
    except LaunchError:
        raise
    except Exception as error:
        culprit = unsendable.describe(fn, [*enumerate(args), *kwargs.items()], _can_send)
        raise LaunchError(
            f"{culprit} cannot be sent to the ranks: {error}. Hint: create such objects "
            "(locks, open files, groups, sharded tensors) inside the function that the ranks run."
        ) from error
    return buffer.getvalue()


def _can_send(obj: Any) -> bool:
    try:
        _CallPickler(io.BytesIO()).dump(obj)
    except Exception:
        return False
    return True
