"""The pictures of a run: who waits when, what each rank sends, and what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.pictures import picture
from sandbox.pictures.memory_chart import draw_memory
from sandbox.pictures.picture import Picture
from sandbox.pictures.spans import Window
from sandbox.pictures.timeline import draw_timeline
from sandbox.pictures.traffic import draw_traffic
from sandbox.pictures.view import View

if TYPE_CHECKING:
    from sandbox.run import Run


def draw_run(run: Run, view: View | None = None) -> list[Picture]:
    """Return a run's pictures, none of a run that issued no collective and tracked no memory."""
    view = view or View()
    axis = _time_to_draw(run, view)
    pictures = []
    if len(run.ledger):
        timeline = draw_timeline(
            run.ledger, run.world_size, run.steps, view, faults=run.faults, axis=axis
        )
        pictures = [timeline, draw_traffic(run.ledger, run.world_size, run.steps, view)]
    memory = run.tracked_memory
    if memory is not None and memory.samples:
        pictures.append(draw_memory(memory, run.world_size, view, axis))
    return pictures


def _time_to_draw(run: Run, view: View) -> Window | None:
    """Return the one time axis of all pictures, so that they line up; None: each its own."""
    if not len(run.ledger):
        return None
    window = view.window(run.ledger, run.steps, run.faults)
    memory = run.tracked_memory
    if view.step is not None or memory is None or not memory.samples:
        return window
    times = [sample.time_s for sample in memory.samples]
    return Window(min(window.start_s, *times), max(window.end_s, *times))


def bundle(run: Run) -> dict[str, str]:
    """Return what a notebook stores of a run: its line of text, and pictures if there are any."""
    pictures = draw_run(run)
    return picture.bundle(pictures, repr(run)) if pictures else {picture.PLAIN: repr(run)}
