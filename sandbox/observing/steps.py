"""Counts the training steps of a rank: those of its optimizers, DeepSpeed's inner ones included."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor
from torch.distributed.checkpoint import state_dict
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.weak import WeakIdKeyDictionary

from sandbox.observing.recorder import Recorder


class Steps:
    """Publishes the end of each step. With several optimizers, the one that stepped most counts.

    DeepSpeed's ZeRO steps its inner optimizer once for each group of parameters, alone in its
    `param_groups` for that moment. So an optimizer's steps are counted by its first parameter.
    DCP makes a new optimizer's states by a step with zero gradients, which is none of training.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.on_start: Callable[[int], None] | None = None  # told the number of each step
        self._recorder = recorder
        self._is_making_states = False
        self._make_states = state_dict._init_optim_state
        state_dict._init_optim_state = self._make_states_uncounted  # type: ignore[assignment]
        self.begin_call()
        register_optimizer_step_pre_hook(self._start)
        register_optimizer_step_post_hook(self._end)

    def begin_call(self) -> None:
        """Count from 1 again."""
        self._counts: WeakKeyDictionary[Optimizer, Any] = WeakKeyDictionary()
        self._num_started = self._num_ended = 0

    def _make_states_uncounted(self, optimizer: Optimizer) -> None:
        self._is_making_states = True
        try:
            self._make_states(optimizer)
        finally:
            self._is_making_states = False

    def _start(self, optimizer: Optimizer, _: Any, __: Any) -> None:
        if self._is_making_states:
            return
        number = self._counts_of(optimizer).get(_first_parameter(optimizer), 0) + 1
        if number > self._num_started:
            self._num_started = number
            if self.on_start is not None:
                self.on_start(number)

    def _end(self, optimizer: Optimizer, _: Any, __: Any) -> None:
        if self._is_making_states:
            return
        counts, parameter = self._counts_of(optimizer), _first_parameter(optimizer)
        number = counts[parameter] = counts.get(parameter, 0) + 1
        if number >= self._num_ended:
            self._num_ended = number
            self._recorder.publish(("step", number, time.monotonic()))

    def _counts_of(self, optimizer: Optimizer) -> WeakIdKeyDictionary:
        if optimizer not in self._counts:
            self._counts[optimizer] = WeakIdKeyDictionary()
        return self._counts[optimizer]


def _first_parameter(optimizer: Optimizer) -> Tensor | Optimizer:
    """Return the first one, or the optimizer where it has none: ZeroRedundancyOptimizer's may."""
    return next((p for group in optimizer.param_groups for p in group["params"]), optimizer)
