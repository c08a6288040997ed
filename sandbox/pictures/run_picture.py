"""The pictures of a run: who waits when, what each rank sends, and what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.pictures import picture
from sandbox.pictures.memory_chart import draw_memory
from sandbox.pictures.picture import Picture
from sandbox.pictures.timeline import draw_timeline
from sandbox.pictures.traffic import draw_traffic
from sandbox.pictures.view import View

if TYPE_CHECKING:
    from sandbox.run import Run


def draw_run(run: Run, view: View | None = None) -> list[Picture]:
    """Return a run's pictures, none of a run that issued no collective and tracked no memory."""
    view = view or View()
    pictures = []
    window = None
    if len(run.ledger):
        if view != View():
            window = view.window(run.ledger, run.steps)
        pictures = [
            draw_timeline(run.ledger, run.world_size, run.steps, view),
            draw_traffic(run.ledger, run.world_size, run.steps, view),
        ]
    memory = run.tracked_memory
    if memory is not None and memory.samples:
        pictures.append(draw_memory(memory, run.world_size, view, window))
    return pictures


def bundle(run: Run) -> dict[str, str]:
    """Return what a notebook stores of a run: its line of text, and pictures if there are any."""
    pictures = draw_run(run)
    return picture.bundle(pictures, repr(run)) if pictures else {picture.PLAIN: repr(run)}
