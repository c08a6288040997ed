"""A bar for what takes longer than a glance; nothing for what does not, or when grading."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator

PATIENCE_S = 0.3


@contextlib.contextmanager
def waiting(text: str, expected_s: float) -> Iterator[Callable[[], None]]:
    """Yield a function to call now and then; after 0.3 s a bar shows how far `expected_s` is gone."""
    start_s = time.monotonic()
    with contextlib.ExitStack() as stack:
        bar = None

        def tick() -> None:
            nonlocal bar
            passed_s = time.monotonic() - start_s
            if bar is None and passed_s > PATIENCE_S:
                bar = _open_bar(stack, text, expected_s)
            if bar is not None:
                bar(min(passed_s, expected_s))

        yield tick


def _open_bar(stack: contextlib.ExitStack, text: str, expected_s: float) -> Callable[[float], None]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, transient=True)
    is_seen = bar.console.is_terminal or bar.console.is_jupyter
    if not is_seen or "NBGRADER_EXECUTION" in os.environ:
        return lambda _: None
    stack.enter_context(bar)
    task = bar.add_task(text, total=expected_s)
    return lambda passed_s: bar.update(task, completed=passed_s)
