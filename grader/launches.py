"""The launches that checks make, kept for whoever compares them: those that failed as well."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import sandbox
from sandbox.errors import SandboxError
from sandbox.run import Run

_kept: ContextVar[list[Run] | None] = ContextVar("kept", default=None)


@contextlib.contextmanager
def kept() -> Iterator[list[Run]]:
    """Return a list to which every launch of a check inside is added when it has ended."""
    runs: list[Run] = []
    token = _kept.set(runs)
    try:
        yield runs
    finally:
        _kept.reset(token)


def launch(fn: Callable[..., Any], *args: Any, **options: Any) -> Run:
    """Do what `sandbox.launch` does, for a check."""
    try:
        run = sandbox.launch(fn, *args, **options)
    except SandboxError as error:
        _keep(error.run)
        raise
    _keep(run)
    return run


def _keep(run: Run | None) -> None:
    runs = _kept.get()
    if runs is not None and run is not None:
        runs.append(run)
