"""In which phase of its training step a rank is, from the calls that begin and end one."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from sandbox.memory.category import Category, Phase


class Phases:
    """Follows one rank through its steps; `on_end` is called at the end of each phase."""

    def __init__(self, on_end: Callable[[Phase], None]) -> None:
        self.phase = Phase.INIT
        self.step = 0  # how many training steps are complete
        self._on_end = on_end
        self._num_modules = 0  # nested calls that have not returned
        self._num_backwards = 0
        self._num_steps = 0
        self._num_reducers = 0
        self._has_trained = False  # DeepSpeed makes a step before the first backward
        self._has_updated = False

    @property
    def birth_category(self) -> Category:
        """What a storage is for that appears now, until an owner claims it.

        A module called during backward is recomputed: activation checkpointing.
        """
        if self._num_reducers:
            return Category.BUFFERS
        is_loss = self.phase is Phase.LOSS and not self._num_steps
        return Category.ACTIVATIONS if self._num_modules or is_loss else Category.OTHER

    def begin_module(self, module: nn.Module) -> None:
        """Note the call of a module; the outermost one that has parameters begins a forward."""
        is_outermost = not (self._num_modules or self._num_backwards or self._num_steps)
        self._num_modules += 1
        if is_outermost and next(module.parameters(), None) is not None:
            if self.phase is Phase.INIT:
                self._on_end(Phase.INIT)
            elif self.phase is Phase.BETWEEN:
                self.step += 1
            self.phase = Phase.FORWARD

    def end_module(self, *, has_returned: bool) -> None:
        """Note that a module's call is over, its hooks included; where it raised, nothing ends."""
        self._num_modules -= 1
        is_outermost = not (self._num_modules or self._num_backwards)
        if has_returned and is_outermost and self.phase is Phase.FORWARD:
            self._on_end(Phase.FORWARD)
            self.phase = Phase.LOSS

    def begin_backward(self) -> None:
        """Note that backward begins, perhaps inside another."""
        self._num_backwards += 1
        if self._num_backwards == 1 and not self._num_modules:
            if self.phase is Phase.LOSS:
                self._on_end(Phase.LOSS)
            self.phase = Phase.BACKWARD

    def end_backward(self, *, has_returned: bool = True) -> None:
        """Note that backward is over, its callbacks included."""
        self._num_backwards -= 1
        if has_returned and not self._num_backwards and self.phase is Phase.BACKWARD:
            self._has_trained = True
            self._on_end(Phase.BACKWARD)

    def begin_step(self) -> None:
        """Note that an optimizer's step begins, perhaps inside that of DeepSpeed's engine."""
        self._num_steps += 1
        if self._has_trained:
            self.phase = Phase.STEP

    def note_update(self) -> None:
        """Note that the optimizer really has made its step: an engine may be accumulating."""
        self._has_updated = True

    def end_step(self, *, has_returned: bool = True) -> None:
        """Note that the step is over."""
        self._num_steps -= 1
        if self._num_steps:
            return
        if has_returned and self._has_trained and self._has_updated:
            self._on_end(Phase.STEP)
            self.phase = Phase.BETWEEN
        self._has_updated = False

    def begin_reducer(self) -> None:
        """Note that DDP makes its buckets, or makes them anew in the order of the gradients."""
        self._num_reducers += 1

    def end_reducer(self, *, has_returned: bool) -> None:
        """Note that DDP has made its buckets."""
        self._num_reducers -= 1

    def end(self) -> None:
        """Note that the call is over: without a forward, all of it was the making of a model."""
        if self.phase is Phase.INIT:
            self._on_end(Phase.INIT)
