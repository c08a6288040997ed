"""Cached and single-dispatch functions of the notebook: cloudpickle alone would send their name."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import cloudpickle

_dispatcher: Any = functools.singledispatch(lambda _: None)


def is_wrapper(obj: Any) -> bool:
    """Whether `reduce` is to be used: what can be imported by its name in a rank is sent so."""
    is_ours = isinstance(obj, functools._lru_cache_wrapper) or (
        isinstance(obj, types.FunctionType) and obj.__code__ is _dispatcher.__code__
    )
    return is_ours and cloudpickle.cloudpickle._lookup_module_and_qualname(obj) is None


def reduce(obj: Any) -> tuple:
    """Return what rebuilds the wrapper around its function: a cache starts empty."""
    if isinstance(obj, functools._lru_cache_wrapper):
        return make_cached, (obj.__wrapped__, obj.cache_parameters())
    functions = dict(obj.registry)
    return functools.singledispatch, (functions[object],), functions, None, None, register_all


def make_cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    """Wrap `function` in functools.lru_cache."""
    return functools.lru_cache(**parameters)(function)


def register_all(dispatcher: Any, functions: dict[type, Callable[..., Any]]) -> None:
    """Register a function per class."""
    for kind, function in functions.items():
        dispatcher.register(kind, function)
