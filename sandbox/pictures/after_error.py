"""After a cell that failed: who waits for whom, drawn under the error's message."""

from __future__ import annotations

from typing import Any

from sandbox.errors import ProvenError
from sandbox.pictures.selectors import is_live


def show(result: Any) -> None:
    """Display the picture of the cell's error, if it has one. IPython calls this after each cell.

    By then the message stands there: text first. Nothing is drawn while nbgrader grades.
    """
    error = result.error_in_exec
    picture = error.picture if isinstance(error, ProvenError) else None
    if picture is not None and is_live():
        from IPython.display import display

        display(picture)
