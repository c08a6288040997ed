"""A run in a notebook: pictures that stay, and selectors of their own that redraw them."""

from __future__ import annotations

from typing import Any

import pytest
from drawing import make_event
from IPython.core.interactiveshell import InteractiveShell

from sandbox import WaitFor
from sandbox.errors import DeadlockError
from sandbox.event import Op
from sandbox.ledger import Ledger
from sandbox.pictures import after_error, selectors
from sandbox.run import Run

EVENTS = [
    make_event(0, 0.0, 0.4),
    make_event(1, 0.3, 0.4),
    make_event(1, 0.5, 0.6, op=Op.BARRIER, dtype="", nbytes=0),
]


def make_run(*events: Any) -> Run:
    return Run(2, [None, None], Ledger(events), ["", ""], 1.0)


def test_each_selector_shows_what_it_chooses_and_nothing_while_all_is_chosen() -> None:
    part, row = selectors.make(make_run(*EVENTS)).children
    ranks, ops = row.children  # no steps: no list of them
    assert [text for text, _ in ranks.options] == ["all ranks", "rank 0", "rank 1"]
    assert part.value == ""
    ranks.value = 1
    assert "Rank 1: 2 collectives in" in part.value
    ops.value = Op.BARRIER
    assert "Rank 1: 1 barrier in" in part.value
    assert (ranks.index, ops.index) == (2, 2)
    ranks.value = ops.value = selectors.ALL
    assert (ranks.index, ops.index) == (0, 0)
    assert part.value == ""


def test_what_is_stored_cannot_change_any_more(shell, monkeypatch) -> None:
    displayed: list[tuple[dict[str, str], dict[str, Any]]] = []
    monkeypatch.setattr(
        "IPython.display.display", lambda data, **how: displayed.append((data, how))
    )
    monkeypatch.setattr(selectors, "is_live", lambda: True)
    selectors.show(make_run(*EVENTS))
    (picture, how), (widget, _) = displayed
    assert "Ranks 0, 1: 1 to 2 collectives each" in picture["image/svg+xml"]
    assert "display_id" not in how  # what has no name cannot be updated
    assert widget.keys() == {selectors.WIDGET, "text/plain"}


@pytest.fixture
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def test_in_a_terminal_a_run_is_one_line(shell, capsys) -> None:
    shell.user_ns["run"] = make_run(*EVENTS)
    shell.run_cell("run")
    assert capsys.readouterr().out.endswith("Run(2 ranks, 1 s, 3 collectives)\n")


def test_a_run_without_collectives_is_text_alone() -> None:
    assert make_run()._repr_mimebundle_() == {"text/plain": "Run(2 ranks, 1 s, 0 collectives)"}


def test_a_runs_bundle_is_for_live_and_static_pages() -> None:
    bundle = make_run(*EVENTS)._repr_mimebundle_()
    assert bundle.keys() == {"text/html", "image/svg+xml", "text/plain"}


@pytest.mark.parametrize("is_graded", [False, True])
def test_nobody_selects_while_nbgrader_grades(shell, monkeypatch, is_graded: bool) -> None:
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    if is_graded:
        monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert selectors.is_live() is not is_graded


def test_a_failed_cell_shows_its_picture_only_where_somebody_looks(shell, monkeypatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    error = DeadlockError("rank 1 never came", rank=1)
    error.waits = (WaitFor(0, Op.BARRIER, (0, 1), (1,), None, "waits"),)
    result = shell.run_cell("1")
    result.error_in_exec = error
    after_error.show(result)
    assert not shown
    monkeypatch.setattr(after_error, "is_live", lambda: True)
    after_error.show(result)
    assert [repr(picture) for picture in shown] == ["rank 1 never came"]
