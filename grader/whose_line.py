"""Whose line it is: the function of the notebook in which a line of an answer lies."""

import dis
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any


def function_at(site: str, answers: Iterable[object]) -> str:
    """Return the name of the notebook's function that holds "file:line", "" if none does.

    It is looked for where `answers` look for what they call.
    """
    filename, _, number = site.rpartition(":")
    for name, code in _functions_around(answers):
        lines = [line for part in _codes(code) for *_, line in part.co_lines() if line]
        if code.co_filename == filename and min(lines) <= int(number) <= max(lines):
            return name
    return ""


def line_of_call(name: str, answers: Iterable[object]) -> str:
    """Return "file:line" where a function around `answers` mentions `name`, "" if none does."""
    for _, code in _functions_around(answers):
        for part in _codes(code):
            for instruction in dis.get_instructions(part):
                line = instruction.positions.lineno if instruction.positions else None
                if instruction.opname == "LOAD_GLOBAL" and instruction.argval == name and line:
                    return f"{part.co_filename}:{line}"
    return ""


def _functions_around(answers: Iterable[Any]) -> Iterator[tuple[str, CodeType]]:
    """Yield the functions defined in the namespace of the answers, which may be partials."""
    for answer in answers:
        names = getattr(getattr(answer, "func", answer), "__globals__", {})
        for name, value in list(names.items()):
            if isinstance(value, FunctionType) and value.__globals__ is names:
                yield name, value.__code__


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of all functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
