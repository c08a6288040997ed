"""Names the object that cannot be sent to the ranks: the one at fault, not what refers to it."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Path = list[tuple[str, Any]]


def describe(
    fn: Callable[..., Any], arguments: Iterable[tuple[int | str, Any]], can_send: Callable
) -> str:
    """Say what cannot be sent: "lock (a lock), which uses_lock refers to", or `fn` itself."""
    named = [(_name(value, f"argument {key}"), value) for key, value in arguments]
    named.insert(0, (_name(fn, repr(fn)), fn))
    path = _find(named, can_send, set())
    if not path:
        return named[0][0]
    (what, culprit), *users = reversed(path)
    by = f", which {users[0][0]} refers to," if users else ""
    kind = "" if isinstance(culprit, types.FunctionType | type) else f" (a {_kind(culprit)})"
    return f"{what}{kind}{by}"


def _find(named: list[tuple[str, Any]], can_send: Callable, seen: set[int]) -> Path:
    """Return the way to the innermost object that cannot be sent."""
    for name, obj in named:
        if id(obj) in seen:
            continue
        seen.add(id(obj))
        if not can_send(obj):
            return [(name, obj), *_find(list(_references(name, obj)), can_send, seen)]
    return []


def _references(name: str, obj: Any) -> Iterator[tuple[str, Any]]:
    """Yield what travels with an object, by the name that a learner would give it."""
    if isinstance(obj, functools.partial):
        yield from _references(name, (obj.func, *obj.args))
        yield from obj.keywords.items()
    elif isinstance(obj, types.MethodType):
        yield from ((obj.__func__.__name__, obj.__func__), ("self", obj.__self__))
    elif isinstance(obj, types.FunctionType):
        names = [*_names(obj.__code__)]
        yield from ((n, obj.__globals__[n]) for n in names if n in obj.__globals__)
        for variable, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True):
            yield variable, cell.cell_contents
    elif isinstance(obj, dict):
        yield from ((str(key), value) for key, value in obj.items())
    elif isinstance(obj, list | tuple | set):
        yield from ((_name(value, f"an item of {name}"), value) for value in obj)
    elif hasattr(obj, "__dict__"):
        yield from ((f"{name}.{key}", value) for key, value in vars(obj).items())


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _name(obj: Any, otherwise: str) -> str:
    return getattr(obj, "__name__", otherwise)


def _kind(obj: Any) -> str:
    kind = type(obj)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
