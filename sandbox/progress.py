"""A bar for what takes longer than a glance; nothing for what does not, or when grading."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

from tqdm.auto import tqdm

PATIENCE_S = 0.3


@contextlib.contextmanager
def waiting(text: str, expected_s: float) -> Iterator[Callable[[], None]]:
    """Yield a function to call now and then: after 0.3 s a bar shows how much time is left."""
    start_s = time.monotonic()
    is_terminal = not sys.stdout.closed and sys.stdout.isatty()
    is_seen = is_terminal or "ipykernel" in sys.modules
    with tqdm(
        total=expected_s,
        desc=text,
        delay=PATIENCE_S,
        leave=False,
        file=sys.stdout,  # tqdm's own choice, stderr, costs a submission its points
        bar_format="{desc} {bar} {remaining}",
        disable=not is_seen or "NBGRADER_EXECUTION" in os.environ,
    ) as bar:
        yield lambda: bar.update(min(time.monotonic() - start_s, expected_s) - bar.n)
        bar.update(expected_s - bar.n)  # one that closes unfilled turns red and stays
