"""Selectors under a run's pictures, which redraw them: one rank, one step, one operation.

They are an output of their own. JupyterLab shows a widget wherever an output has one, whether or
not it can; so pictures in the same output would vanish with the kernel. As it is, the pictures stay
in a saved notebook, on GitHub and in nbconvert's pages, and hide selectors that no longer work.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sandbox.pictures.picture import PLAIN
from sandbox.pictures.run_picture import bundle
from sandbox.pictures.view import View, step_numbers

ALL = "all"  # not None: to a list that means that nothing is selected
WIDGET = "application/vnd.jupyter.widget-view+json"

if TYPE_CHECKING:
    from sandbox.run import Run


def show(run: Run, plain: str = "") -> None:
    """Display a run's pictures, with selectors where a person can use them; else `plain`."""
    from IPython.display import display

    stored = bundle(run)
    handle = display(stored | {PLAIN: plain or stored[PLAIN]}, raw=True, display_id=True)
    if len(run.ledger) and is_live():
        selectors = make(run, handle)._repr_mimebundle_()
        display({WIDGET: selectors[WIDGET], PLAIN: ""}, raw=True)


def is_live() -> bool:
    """Whether somebody may look at this in a notebook: nobody does while nbgrader grades."""
    from IPython import get_ipython

    shell = get_ipython()
    return hasattr(shell, "kernel") and "NBGRADER_EXECUTION" not in os.environ


def make(run: Run, handle: Any) -> Any:
    """Return a row of drop-down lists that redraw what `handle` displays."""
    from ipywidgets import Dropdown, HBox, Layout

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

    def redraw(_: Any) -> None:
        values = {name: chosen.value for name, chosen in lists.items()}
        view = View(**{name: value for name, value in values.items() if value != ALL})
        handle.update(bundle(run, view), raw=True)

    for chosen in lists.values():
        chosen.observe(redraw, "value")
    return HBox(list(lists.values()), layout=Layout(flex_flow="row wrap"))


def _ops(run: Run) -> list[Any]:
    return sorted({event.op for event in run.ledger}, key=lambda op: op.value)
