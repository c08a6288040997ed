"""Watch a training loop from outside: its samples, and each step's gradients and weights."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from grader.shards import Shard, shards_of
from grader.step_hook import record_gradients
from sandbox import toys


@dataclass(frozen=True)
class LoopStep:
    """One optimizer step of one rank: its samples since the step before, gradients, weights."""

    tokens: Tensor
    arrived: dict[str, Shard]
    weights_before: dict[str, Shard]
    weights: dict[str, Shard]


@dataclass
class _Forward:
    tokens: Tensor
    is_trained: bool = False  # a backward went through it


class LoopWatch:
    """Records every optimizer step that follows a forward of a toy Transformer, in this process.

    A step without one is none of training: torch takes such to make an optimizer's empty state.
    Its samples are those that a backward went through: a loop may evaluate in between.
    """

    def __init__(self) -> None:
        self.steps: list[LoopStep] = []
        self._model: nn.Module | None = None
        self._forwards: list[_Forward] = []
        self._arrived: dict[str, Shard] = {}
        self._weights_before: dict[str, Shard] = {}
        register_module_forward_hook(self._after_forward)
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)

    def _after_forward(self, module: nn.Module, args: tuple[Any, ...], logits: Any) -> None:
        if not isinstance(module, toys.Transformer) or not torch.is_grad_enabled():
            return
        forward = _Forward(args[0].detach().to("cpu", copy=True))
        self._model = module
        self._forwards.append(forward)
        if isinstance(logits, Tensor) and logits.requires_grad:
            logits.register_hook(lambda _: setattr(forward, "is_trained", True))

    def _before_step(self, _: Any, args: tuple, kwargs: dict) -> Any:
        return record_gradients(self._record, args, kwargs)

    def _record(self) -> None:
        if self._forwards and self._model is not None:
            weights = dict(self._model.named_parameters())
            self._arrived = shards_of((name, weight.grad) for name, weight in weights.items())
            self._weights_before = shards_of(weights.items())

    def _after_step(self, *_: Any) -> None:
        if not self._forwards or self._model is None:
            return
        trained = [entry for entry in self._forwards if entry.is_trained]
        tokens = torch.cat([entry.tokens for entry in trained or self._forwards])
        weights = shards_of(self._model.named_parameters())
        self.steps.append(LoopStep(tokens, self._arrived, self._weights_before, weights))
        self._forwards.clear()
