"""A module that every rank would import is imported once, in the warm process."""

from __future__ import annotations

import sys

import pytest

import sandbox
from sandbox.ranks import fork_guard, warm

NAME = "xmlrpc.server"  # nothing that ranks are made of imports it


def is_loaded(name: str) -> bool:
    return name in sys.modules


@pytest.fixture(autouse=True)
def _no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_preloaded", set())


def test_ranks_find_a_preloaded_module() -> None:
    assert sandbox.launch(is_loaded, NAME, world_size=2).results == [False, False]
    warm.preload(NAME)
    assert sandbox.launch(is_loaded, NAME, world_size=2).results == [True, True]


def test_a_module_that_cannot_be_imported_is_left_to_the_ranks() -> None:
    warm.preload("no_such_module_anywhere")
    assert sandbox.launch(is_loaded, "no_such_module_anywhere", world_size=1).results == [False]


def test_ray_and_deepspeed_leave_the_warm_process_fit_to_fork() -> None:
    def is_imported() -> bool:
        import deepspeed
        import ray

        assert deepspeed
        assert ray
        return not (fork_guard.initialised_cuda() or fork_guard.runs_threads())

    assert sandbox.launch(is_imported, world_size=1).results == [True]
