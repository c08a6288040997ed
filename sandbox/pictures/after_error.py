"""After a cell that failed: who waits for whom, and generations, drawn under the message."""

from __future__ import annotations

from typing import Any

from sandbox.errors import ProvenError, SandboxError
from sandbox.pictures.selectors import is_live


def show(result: Any) -> None:
    """Display the pictures of the cell's error, if it has any. IPython calls this after each cell.

    By then the message stands there: text first. Nothing is drawn while nbgrader grades.
    """
    error = result.error_in_exec
    pictures = [error.picture if isinstance(error, ProvenError) else None]
    if isinstance(error, SandboxError) and error.elastic is not None:
        pictures.append(error.elastic.picture)
    for picture in pictures:
        if picture is not None and is_live():
            from IPython.display import display

            display(picture)
