"""What a launch may ask for, checked before anything starts."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import math
import numbers
import os
import resource
from collections.abc import Callable, Collection, Sequence
from typing import Any

from sandbox.errors import LaunchError

MAX_WORLD_SIZE = 256  # three descriptors and some 10 MB a rank: what a large laptop can carry
OPTIONS = ("world_size", "timeout_s", "backend", "init_process_group", "faults", "memory")
FILES_PER_RANK = 3
SPARE_FILES = 64


def check_world_size(world_size: int) -> int:
    """Return `world_size` if ranks can be started for it."""
    is_whole = isinstance(world_size, numbers.Integral) and not isinstance(world_size, bool)
    if not is_whole or not 1 <= world_size <= MAX_WORLD_SIZE:
        raise LaunchError(
            f"world_size is {world_size!r}, expected a whole number from 1 to {MAX_WORLD_SIZE}."
        )
    return int(world_size)


def check_timeout(timeout_s: float) -> float:
    """Return `timeout_s` if it is a time that can pass."""
    is_number = isinstance(timeout_s, numbers.Real) and not isinstance(timeout_s, bool)
    if not is_number or not 0 < timeout_s < math.inf:
        raise LaunchError(f"timeout_s is {timeout_s!r}, expected a positive number of seconds.")
    return float(timeout_s)


def check_flag(name: str, value: bool) -> bool:
    """Return `value` if it says yes or no."""
    if not isinstance(value, bool):
        raise LaunchError(f"{name} is {value!r}, expected True or False.")
    return value


def check_keywords(
    fn: Callable[..., Any], names: Collection[str], options: Sequence[str] = OPTIONS
) -> None:
    """Refuse a keyword that `fn` does not take and that is nearly an option of a launch.

    (What resembles none is left to Python's own TypeError, in the rank.)
    """
    if not names:
        return
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):  # no function, or one of C's that has no signature
        return
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    for name in names:
        near = difflib.get_close_matches(name, options, n=1)
        if name not in parameters and near:
            raise LaunchError(
                f"neither the function nor the launch takes {name}=…. Hint: did you mean "
                f"{near[0]}=…?"
            )


def check_arguments(fn: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> None:
    """Refuse a call in which a plain function lacks an argument, or gets more than it takes."""
    if not inspect.isfunction(fn) or hasattr(fn, "__signature__"):
        return
    signature = inspect.signature(fn, follow_wrapped=False)
    known = {name: value for name, value in kwargs.items() if name in signature.parameters}
    try:
        signature.bind(*args, **known)
    except TypeError as error:
        raise LaunchError(
            f"the ranks would call {fn.__name__}{signature} with other arguments: {error}. Hint: "
            f"what follows the function is passed on to it, as in launch({fn.__name__}, …)."
        ) from None


def allow_files(world_size: int) -> None:
    """Raise this process's soft limit of open files where the ranks need it (256 on macOS)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = len(os.listdir("/dev/fd")) + FILES_PER_RANK * world_size + SPARE_FILES
    if soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise LaunchError(
            f"{world_size} ranks need {needed} open files, and this process may open {hard}. "
            "Hint: launch fewer ranks, or raise `ulimit -Hn`."
        )
    with contextlib.suppress(ValueError):  # macOS caps it below what it reports
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def current_folder() -> str:
    """Return the folder in which the ranks shall work: the caller's."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise LaunchError(
            "the current folder no longer exists. Hint: os.chdir to one that does."
        ) from None
