"""Watch a training loop from outside: its samples, and each step's gradients and weights."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from grader.shards import Shard, shards_of
from sandbox import toys


@dataclass(frozen=True)
class LoopStep:
    """One optimizer step of one rank: its samples since the step before, gradients, weights."""

    tokens: Tensor
    arrived: dict[str, Shard]
    weights: dict[str, Shard]


class LoopWatch:
    """Records every optimizer step that follows a forward of a toy Transformer, in this process.

    A step without one is none of training: torch takes such to make an optimizer's empty state.
    """

    def __init__(self) -> None:
        self.steps: list[LoopStep] = []
        self._model: nn.Module | None = None
        self._tokens: list[Tensor] = []
        self._arrived: dict[str, Shard] = {}
        register_module_forward_pre_hook(self._before_forward)
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)

    def _before_forward(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if isinstance(module, toys.Transformer) and torch.is_grad_enabled():
            self._model = module
            self._tokens.append(args[0].detach().to("cpu", copy=True))

    def _before_step(self, *_: Any) -> None:
        if self._tokens and self._model is not None:
            parameters = self._model.named_parameters()
            self._arrived = shards_of((name, weight.grad) for name, weight in parameters)

    def _after_step(self, *_: Any) -> None:
        if self._tokens and self._model is not None:
            weights = shards_of(self._model.named_parameters())
            self.steps.append(LoopStep(torch.cat(self._tokens), self._arrived, weights))
            self._tokens.clear()
