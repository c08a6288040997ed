"""A reduce_scatter on gloo that can be waited for in steps, and says when it is complete.

gloo has none of its own: torch all-reduces a copy of the whole tensor and keeps one chunk of it, in
a handle whose wait() lets no signal in and whose is_completed() stays False. Here the same is done,
with the same result bit for bit, in a handle that does better.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch import Tensor

METHODS = (
    "reduce_scatter_single",
    "_reduce_scatter_base",
    "reduce_scatter_single_coalesced",
    "reduce_scatter_tensor_coalesced",
)


class ReduceScatterWork:
    """The handle of the all_reduce, which copies this rank's chunk to where it belongs."""

    def __init__(
        self, all_reduce: dist.Work, output: Tensor, buffer: Tensor, place: tuple[int, int]
    ) -> None:
        self.all_reduce = all_reduce
        self._output = output
        self.buffer: Tensor | None = buffer  # what is all-reduced; None once that is done
        self._place = place

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Block until the output is filled; a wait that runs out of time may be repeated."""
        is_done = self.all_reduce.wait(timeout)
        if self.buffer is not None:
            # Cut now: until then gloo may rewrite the autograd graph of what it averages.
            place, size = self._place
            self._output.copy_(self.buffer.chunk(size)[place])
            self.buffer = None
        return is_done

    def is_completed(self) -> bool:
        """Whether the output is filled."""
        if not self.all_reduce.is_completed():
            return False
        with contextlib.suppress(RuntimeError):  # its own failure is for wait() to raise
            self.wait()
        return True

    def get_future(self) -> Any:
        """Raise, as torch does: gloo's reduce_scatter has no future."""
        raise RuntimeError("Work::getFuture not implemented.")

    def result(self) -> list[Tensor]:
        """Return the output."""
        return [self._output]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.all_reduce, name)


def prepare(
    group: dist.ProcessGroup, values: Sequence[Any]
) -> Callable[[], ReduceScatterWork] | None:
    """Return what starts the operation of one tensor on the CPU; None for what torch shall do."""
    output, whole, *rest = values
    if isinstance(output, list) and len(output) == len(whole) == 1:
        output, whole = output[0], whole[0]
    options = rest[0] if rest else dist.ReduceScatterOptions()
    if not (isinstance(output, Tensor) and _fit(output, whole, group.size())):
        return None

    def start() -> ReduceScatterWork:
        buffer = whole.clone()
        all_reduce_options = dist.AllreduceOptions()
        all_reduce_options.reduceOp = options.reduceOp
        all_reduce_options.timeout = options.timeout
        all_reduce = group.allreduce([buffer], all_reduce_options)
        return ReduceScatterWork(all_reduce, output, buffer, (group.rank(), group.size()))

    return start


def _fit(output: Tensor, whole: Tensor, world_size: int) -> bool:
    """Whether device and sizes are those of a reduce_scatter on gloo."""
    return (
        output.is_cpu
        and output.dim() > 0
        and output.dtype == whole.dtype
        and output.shape[0] * world_size == whole.shape[0]
        and output.shape[1:] == whole.shape[1:]
    )
