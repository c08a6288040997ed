"""Lets a tracker know when modules, backward and optimizers begin and end, and storages change."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from sandbox.memory.owned_by_deepspeed import engine_class
from sandbox.memory.tracker import Tracker
from sandbox.observing import observe


@contextlib.contextmanager
def tapped(tracker: Tracker) -> Iterator[None]:
    """Wrap torch's own functions, so that they tell `tracker`, until the context ends."""
    with contextlib.ExitStack() as stack:
        engines = _Engines(stack, tracker)
        for owner, name, wrap in (
            (nn.Module, "__init__", _registered(engines.register)),
            (nn.Module, "__setstate__", _registered(engines.register)),  # a deep copy
            (nn.Module, "__call__", _module_call(tracker)),
            (Optimizer, "__init__", _registered(tracker.owners.add)),
            (torch.autograd, "backward", _backward(tracker)),
            (torch.autograd, "grad", _backward(tracker)),
            (
                torch.autograd,
                "_engine_run_backward",
                _backward(tracker),
            ),  # of names imported before
            (torch.UntypedStorage, "resize_", _resize(tracker)),
            (DistributedDataParallel, "__init__", _reducer(tracker)),
            (DistributedDataParallel, "_pre_forward", _reducer(tracker)),
        ):
            _replace(stack, owner, name, wrap)
        for handle in (
            register_optimizer_step_pre_hook(lambda *_: tracker.phases.begin_step()),
            register_optimizer_step_post_hook(lambda *_: _end_step(tracker)),
        ):
            stack.callback(handle.remove)
        stack.enter_context(observe.watching(tracker.see_sent))
        yield


def _end_step(tracker: Tracker) -> None:
    tracker.phases.note_update()
    tracker.phases.end_step()


def _replace(stack: contextlib.ExitStack, owner: Any, name: str, wrap: Callable) -> None:
    original = getattr(owner, name)
    is_own = name in vars(owner)
    setattr(owner, name, functools.wraps(original)(wrap(original)))
    stack.callback(
        functools.partial(setattr, owner, name, original)
        if is_own
        else functools.partial(delattr, owner, name)
    )


def _registered(register: Callable[[Any], None]) -> Callable:
    def wrap(original: Callable) -> Callable:
        def method(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            register(self)

        return method

    return wrap


def _module_call(tracker: Tracker) -> Callable:
    def wrap(original: Callable) -> Callable:
        def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            tracker.begin_module(self)
            has_returned = False
            try:
                result = original(self, *args, **kwargs)
                has_returned = True
                return result
            finally:
                tracker.phases.end_module(has_returned=has_returned)

        return call

    return wrap


class _Engines:
    """Taps DeepSpeed's engine as soon as it is imported, or else when the first one is made.

    It reduces gradients after backward, and gathers parameters after the step: both belong there.
    """

    def __init__(self, stack: contextlib.ExitStack, tracker: Tracker) -> None:
        self._stack = stack
        self._tracker = tracker
        self._is_tapped = False
        self.tap()

    def register(self, module: nn.Module) -> None:
        """Take in a module that was just made."""
        self._tracker.owners.add(module)
        self.tap()

    def tap(self) -> None:
        """Wrap the engine's methods, if there is such a class and it is not done yet."""
        engine = engine_class()
        if engine is None or self._is_tapped:
            return
        self._is_tapped = True
        phases = self._tracker.phases
        backward = _between(phases.begin_backward, phases.end_backward)
        _replace(self._stack, engine, "backward", backward)
        _replace(self._stack, engine, "step", _between(phases.begin_step, phases.end_step))


def _backward(tracker: Tracker) -> Callable:
    return _between(tracker.phases.begin_backward, tracker.phases.end_backward)


def _reducer(tracker: Tracker) -> Callable:
    return _between(tracker.phases.begin_reducer, tracker.phases.end_reducer)


def _between(begin: Callable[[], None], end: Callable[..., None]) -> Callable:
    def wrap(original: Callable) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            begin()
            has_returned = False
            try:
                result = original(*args, **kwargs)
                has_returned = True
                return result
            finally:
                end(has_returned=has_returned)

        return call

    return wrap


def _resize(tracker: Tracker) -> Callable:
    def wrap(original: Callable) -> Callable:
        def resize_(self: torch.UntypedStorage, size: int) -> Any:
            tracker.before_resize()
            result = original(self, size)
            tracker.see_resized(self)
            return result

        return resize_

    return wrap
