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


class Handle:
    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def update(self, bundle: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(bundle)


def make_run(*events: Any) -> Run:
    return Run(2, [None, None], Ledger(events), ["", ""], 1.0)


def test_each_selector_redraws_what_it_chooses() -> None:
    handle = Handle()
    ranks, ops = selectors.make(make_run(*EVENTS), handle).children  # no steps: no list of them
    assert [text for text, _ in ranks.options] == ["all ranks", "rank 0", "rank 1"]
    ranks.value = 1
    ops.value = Op.BARRIER
    assert "Rank 1: 2 collectives in" in handle.shown[0]["image/svg+xml"]
    assert "Rank 1: 1 barrier in" in handle.shown[1]["image/svg+xml"]
    assert (ranks.index, ops.index) == (2, 2)
    ranks.value = ops.value = selectors.ALL
    assert (ranks.index, ops.index) == (0, 0)
    assert "Ranks 0, 1: 1 to 2 collectives each" in handle.shown[-1]["image/svg+xml"]


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
