"""What answers are made of: whose line a line is, and which names they use."""

import dis
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
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


def grader_name_in(answers: Iterable[Any]) -> str:
    """Return a name by which an answer, or a function it calls, uses the grader; "" if none."""
    for answer in answers:
        if _is_graders(answer):
            return str(getattr(answer, "__name__", answer))
    for name, value in _names_used(answers):
        if name.partition(".")[0] == "grader" or _is_graders(value):
            return name
    return ""


def uses(name: str, answers: Iterable[Any]) -> bool:
    """Whether an answer, or a function that it calls, uses this name of the notebook."""
    return any(used == name for used, _ in _names_used(answers))


def _is_graders(value: object) -> bool:
    path = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return str(path).partition(".")[0] == "grader"


def _names_used(answers: Iterable[Any]) -> Iterator[tuple[str, object]]:
    """Yield the globals that answers, and functions that they call, use; and their imports."""
    seen: set[CodeType] = set()
    functions = [getattr(answer, "func", answer) for answer in answers]
    while functions:
        function = functions.pop()
        if not isinstance(function, FunctionType) or function.__code__ in seen:
            continue
        seen.add(function.__code__)
        for code in _codes(function.__code__):
            for instruction in dis.get_instructions(code):
                name = instruction.argval
                if instruction.opname == "IMPORT_NAME":
                    yield name, None
                elif instruction.opname == "LOAD_GLOBAL" and name in function.__globals__:
                    value = function.__globals__[name]
                    yield name, value
                    if getattr(value, "__globals__", None) is function.__globals__:
                        functions.append(value)


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
