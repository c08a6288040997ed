"""Selectors under a run's pictures, which show a part: one rank, one step, one operation.

They are an output of their own, and draw the part in it. What the run itself displays is never
touched, so a saved notebook, GitHub and nbconvert's pages have it whole. While a part is shown it
stands in place of the whole; selectors that have lost their kernel are hidden (picture.SELECTED).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sandbox.pictures.page import SELECTORS, write_live
from sandbox.pictures.picture import PLAIN
from sandbox.pictures.run_picture import bundle, draw_run
from sandbox.pictures.view import View, step_numbers

ALL = "all"  # not None: to a list that means that nothing is selected
WIDGET = "application/vnd.jupyter.widget-view+json"

if TYPE_CHECKING:
    from sandbox.run import Run


def show(run: Run, plain: str = "") -> None:
    """Display a run's pictures, with selectors where a person can use them; else `plain`."""
    from IPython.display import display

    stored = bundle(run)
    display(stored | {PLAIN: plain or stored[PLAIN]}, raw=True)
    if len(run.ledger) and is_live():
        selectors = make(run)._repr_mimebundle_()
        display({WIDGET: selectors[WIDGET], PLAIN: ""}, raw=True)


def is_live() -> bool:
    """Whether somebody may look at this in a notebook: nobody does while nbgrader grades."""
    from IPython import get_ipython

    shell = get_ipython()
    return hasattr(shell, "kernel") and "NBGRADER_EXECUTION" not in os.environ


def make(run: Run) -> Any:
    """Return a row of drop-down lists, and above it what they choose, if that is not all."""
    from ipywidgets import HTML, Dropdown, HBox, Layout, VBox

    choices = {
        "rank": [("all ranks", ALL), *((f"rank {r}", r) for r in range(run.world_size))],
        "step": [("all steps", ALL), *((f"step {n}", n) for n in step_numbers(run.steps))],
        "op": [("all operations", ALL), *((op.value, op) for op in _ops(run))],
    }
    lists = {
        name: Dropdown(options=options, layout=Layout(width="11em", min_width="8em"))
        for name, options in choices.items()
        if len(options) > 2  # something to choose between
    }
    # Where and as wide as JupyterLab draws the whole; no empty line while that is shown.
    part = HTML(layout=Layout(margin="0 20px 0 0", display="none"))

    def redraw(_: Any) -> None:
        values = {name: chosen.value for name, chosen in lists.items()}
        view = View(**{name: value for name, value in values.items() if value != ALL})
        part.value = "" if view == View() else write_live(draw_run(run, view))
        part.layout.display = None if part.value else "none"

    for chosen in lists.values():
        chosen.observe(redraw, "value")
    row = HBox(list(lists.values()), layout=Layout(flex_flow="row wrap"))
    return VBox([part, row], layout=Layout(overflow="visible")).add_class(SELECTORS)


def _ops(run: Run) -> list[Any]:
    return sorted({event.op for event in run.ledger}, key=lambda op: op.value)
