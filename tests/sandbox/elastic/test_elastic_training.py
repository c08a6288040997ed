"""Interrupted training ends with the weights of one process, here and under torchrun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import elastic_training
import pytest
from elastic_training import (
    KILLED_STEP,
    assert_weights_are_those_of_one_process,
    read_starts,
    train,
)

import sandbox
from sandbox import Join, Lose, Step

# Else the ranks meet in the agent's own store, which after a restart may still hold the addresses
# of ranks that are gone: "connectFullMesh failed", in torch 2.13 with one agent.
SETTINGS = {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def test_a_rank_that_kills_itself(tmp_path: Path) -> None:
    run = sandbox.launch_elastic(train, tmp_path, kills_itself=True, world_size=2, max_restarts=1)
    assert [str(each.ended) for each in run.generations] == ["failed", "finished"]
    assert read_starts(tmp_path) == [(2, 0), (2, KILLED_STEP)]
    assert_weights_are_those_of_one_process(tmp_path)


def test_a_place_is_lost_and_comes_back(tmp_path: Path) -> None:
    faults = {0: [Lose(1, Step(3))], 1: [Lose(0, Step(2))], 2: [Join(3, Step(2))]}
    run = sandbox.launch_elastic(
        train, tmp_path, kills_itself=False, world_size=(2, 4), faults=faults
    )
    assert read_starts(tmp_path) == [(4, 0), (3, 2), (2, 3), (4, 4)]
    faulty = (1, 0, 0, 0)  # others may have ended their own step, too
    steps = [each.run.steps[rank] for each, rank in zip(run.generations, faulty, strict=True)]
    assert list(map(len, steps)) == [2, 1, 1, 2]  # what DCP does to load a state is no step
    assert_weights_are_those_of_one_process(tmp_path)


@pytest.mark.slow
def test_torchrun_restarts_the_same_function_as_often_and_to_the_same_weights(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    options = ["--nproc-per-node=2", "--max-restarts=1"]
    log = tmp_path / "log"
    with log.open("w") as file:
        subprocess.run(
            [*command, *options, elastic_training.__file__, str(tmp_path)],
            env={**os.environ, **SETTINGS},
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=100,
            check=False,
        )
    assert (tmp_path / "weights.pt").exists(), log.read_text()
    assert read_starts(tmp_path) == [(2, 0), (2, KILLED_STEP)]
    assert_weights_are_those_of_one_process(tmp_path)
