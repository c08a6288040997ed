"""A rank's global variables: its own stay, what the notebook sends is filled in around them."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

import cloudpickle

_given: dict[str, Any] = {}  # what the notebook has sent, by name


def variables() -> dict[str, Any]:
    """Return the namespace in which cells and functions of the notebook run."""
    return sys.modules["__main__"].__dict__


def give(values: Mapping[str, Any]) -> None:
    """Set variables to the notebook's values, except those that the rank has bound itself."""
    namespace = variables()
    for name, value in values.items():
        if name not in namespace or (name in _given and namespace[name] is _given[name]):
            namespace[name] = _given[name] = value


def make_function(code: Any, base_globals: dict, name: str, defaults: Any, closure: Any) -> Any:
    """Build a function that cloudpickle sent by value; the notebook's see this rank's variables."""
    if base_globals.get("__name__") == "__main__":
        base_globals = variables()
    return types.FunctionType(code, base_globals, name, defaults, closure)


def set_function_state(function: types.FunctionType, state: tuple[dict, dict]) -> None:
    """Fill in a function that cloudpickle sent by value, and the globals that it came with."""
    attributes, slots = state
    if function.__globals__ is variables():
        give(slots["__globals__"])
        slots = slots | {"__globals__": {}}
    cloudpickle.cloudpickle._function_setstate(function, (attributes, slots))
