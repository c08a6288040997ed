"""Lets gloo alone rewrite the autograd graph of what it averages: in torch, two threads do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from sandbox.observing.call_arguments import Values
from sandbox.observing.record import Call

# gloo's own thread divides the sum in place; where the tensor requires grad, that rewrites its
# autograd graph. At the same time the calling thread hooks a warning into that graph (autograd's
# fallback for operations without a derivative), and now and then the process dies of it: 2 of 10
# plain gloo runs of 2000 averaged losses on 4 ranks did.


def prepare(start: Callable[[], Any], call: Call, values: Values) -> Callable[[], Any]:
    """Return what starts the call, without that warning where the two threads would race."""
    is_average = call.reduce_op == "AVG"
    if not (is_average and torch.is_grad_enabled() and any(_need_grad(values))):
        return start

    def start_unhooked() -> Any:
        before = torch._C._get_autograd_fallback_mode()
        torch._C._set_autograd_fallback_mode("nothing")
        try:
            return start()
        finally:
            torch._C._set_autograd_fallback_mode(before)

    return start_unhooked


def _need_grad(values: Iterable[Any]) -> Iterator[bool]:
    for value in values:
        if isinstance(value, Tensor):
            yield value.requires_grad and value.is_cpu
        elif isinstance(value, list | tuple):
            yield from _need_grad(value)
