"""A bar for what takes longer than a glance; nothing for what does not, or when grading."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from tqdm import tqdm

PATIENCE_S = 0.3
NOTEBOOK_COLUMNS = 64


class _InNotebook(tqdm):
    """A bar as text in one output, which is empty in the end.

    tqdm's own for notebooks is a widget: gone from the page, its text stays in what is saved.
    """

    handle: Any = None

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Show the bar, or what stands in its place; tqdm closes one with an empty text."""
        from IPython.display import DisplayHandle

        text = str(self) if msg is None else msg
        if self.handle is not None:
            # (An output without any data is one that nbconvert warns of.)
            self.handle.update({"text/plain": text} if text else {"text/html": ""}, raw=True)
        elif text:
            self.handle = DisplayHandle()
            self.handle.display({"text/plain": text}, raw=True)


@contextlib.contextmanager
def waiting(text: str, expected_s: float) -> Iterator[Callable[[], None]]:
    """Yield a function to call now and then: after 0.3 s a bar shows how much time is left."""
    start_s = time.monotonic()
    in_notebook = "IPython" in sys.modules and _is_watched()
    is_terminal = not sys.stdout.closed and sys.stdout.isatty()
    bar_of = _InNotebook if in_notebook else tqdm
    with bar_of(
        total=expected_s,
        desc=text,
        delay=PATIENCE_S,
        leave=False,
        # (tqdm's own choice, stderr, costs a submission its points)
        file=io.StringIO() if in_notebook else sys.stdout,
        ncols=NOTEBOOK_COLUMNS if in_notebook else None,
        ascii=False if in_notebook else None,  # None: as the file's encoding allows
        bar_format="{desc} {bar} {remaining}",
        disable=not (in_notebook or is_terminal),
    ) as bar:
        yield lambda: bar.update(min(time.monotonic() - start_s, expected_s) - bar.n)


def _is_watched() -> bool:
    from sandbox.pictures.selectors import is_live  # imported here: no IPython, no pictures

    return is_live()
