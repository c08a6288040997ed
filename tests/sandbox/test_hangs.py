"""Planted hangs on real ranks: each is proven well before the timeout, with culprit and lines."""

from __future__ import annotations

import importlib
from pathlib import Path

import hangs
import pytest
import torch.distributed as dist
from hangs.planted import PLANTED, Planted, Program

import sandbox
from sandbox.errors import ProvenError

for path in sorted(Path(hangs.__path__[0]).glob("*.py")):
    importlib.import_module(f"hangs.{path.stem}")


def run_on_rank(program: Program) -> None:
    program(dist.get_rank())


def run(planted: Planted) -> sandbox.SandboxError:
    with pytest.raises(sandbox.SandboxError) as caught:
        sandbox.launch(
            run_on_rank,
            planted.program,
            world_size=planted.world_size,
            timeout_s=planted.timeout_s,
        )
    return caught.value


def line_of(site: str | None) -> int:
    assert site is not None
    return int(site.rpartition(":")[2])


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_hang_is_named(planted: Planted) -> None:
    error = run(planted)
    assert type(error) is planted.error, error.message
    assert planted.says in error.message
    if planted.culprit is not None or isinstance(error, ProvenError):
        assert error.rank == planted.culprit, error.message
    shown = planted.lines("culprit") or planted.lines("waits")
    if shown:
        assert line_of(error.site) in shown, error.message
    if isinstance(error, ProvenError):
        assert {line_of(wait.site) for wait in error.waits} == planted.lines("waits")
        assert planted.op in {None, *(wait.op for wait in error.waits)}
        assert error.run is not None
        assert error.run.duration_s < planted.timeout_s / 2
    if planted.waits:
        assert isinstance(error, ProvenError)
        assert {wait.rank: wait.waits_for for wait in error.waits} == planted.waits


def test_there_are_enough_and_each_family_once() -> None:
    names = [planted.name for planted in PLANTED]
    assert len(names) == len(set(names)) >= 25
