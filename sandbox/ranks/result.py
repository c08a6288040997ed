"""What a rank returns, pickled for the way back: bounded in size, and on the CPU."""

from __future__ import annotations

import io
from typing import Any

import cloudpickle
import torch

MAX_RESULT_BYTES = 256 << 20


class _BoundedBuffer(io.BytesIO):
    """Stops a pickle that grows too large, before it fills the memory."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > MAX_RESULT_BYTES:
            raise OverflowError
        return super().write(data)


class _ResultPickler(cloudpickle.Pickler):
    """Brings tensors to the CPU, to one device for all ranks, as without GPUs.

    Loaded on their GPUs, they would have the owner's process take memory of each.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, torch.storage.TypedStorage):  # how tensors pickle what they hold
            untyped = obj._untyped_storage
            if untyped.device.type != "cpu":
                return obj._new_wrapped_storage(untyped.cpu()).__reduce__()
        return super().reducer_override(obj)


def dump_result(value: Any) -> bytes:
    """Pickle a return value for the way back; a ValueError in plain words where that cannot be."""
    buffer = _BoundedBuffer()
    try:
        _ResultPickler(buffer).dump(value)
    except OverflowError:
        raise ValueError(
            f"the return value takes more than {MAX_RESULT_BYTES >> 20} MiB, the most that can be "
            "sent back. Hint: return a summary of it, or save it to a file; of a slice of a tensor "
            "return a .clone(), or its whole storage travels."
        ) from None
    except Exception as error:
        raise ValueError(
            f"the return value (a {type(value).__name__}) cannot be sent back: {error}. "
            "Hint: return plain tensors and numbers; of a DTensor, .to_local() or .full_tensor()."
        ) from error
    return buffer.getvalue()
