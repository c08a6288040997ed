"""launch_elastic: what it refuses, when it gives up, and that nothing is left running."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
import torch.distributed as dist

import sandbox
from sandbox import Collective, Join, Kill, Lose
from sandbox.errors import RanksInterrupted
from sandbox.ranks import warm


def fail(folder: Path) -> None:
    dist.barrier()
    (folder / str(os.getpid())).touch()
    dist.barrier()
    raise ValueError(f"boom {sandbox.generation()}")


def is_any_alive(folder: Path) -> bool:
    return any(psutil.pid_exists(int(path.name)) for path in folder.iterdir())


@pytest.mark.parametrize("max_restarts", [0, 2])
def test_the_last_error_is_raised_when_no_restart_is_left(
    max_restarts: int, tmp_path: Path
) -> None:
    with pytest.raises(sandbox.RankError, match=f"boom {max_restarts}") as error:
        sandbox.launch_elastic(fail, tmp_path, world_size=2, max_restarts=max_restarts)
    lines = error.value.message.splitlines()
    for number in range(max_restarts):
        said = f"Generation {number} (2 ranks) failed: ranks 0, 1 raised ValueError: boom {number}."
        assert said in lines
    assert lines[-1] == (
        f"This was generation {max_restarts}, of 2 ranks. "
        f"No restart is left: max_restarts={max_restarts}."
    )
    assert str(error.value) == error.value.message
    elastic = error.value.elastic
    assert [str(each.ended) for each in elastic.generations] == ["failed"] * (max_restarts + 1)
    assert elastic.generations[-1].error is error.value
    assert elastic.generations[-1].run is error.value.run
    assert elastic.results == [None, None]
    assert len(list(tmp_path.iterdir())) == 2 * (max_restarts + 1)
    assert not is_any_alive(tmp_path)


def test_fewer_places_than_the_minimum_are_an_error_at_once() -> None:
    faults = {0: [Lose(0, Collective(1))], 1: [Lose(1, Collective(1))]}
    with pytest.raises(sandbox.RankDiedError) as error:
        sandbox.launch_elastic(dist.barrier, world_size=(3, 4), max_restarts=9, faults=faults)
    last = "This was generation 1, of 3 ranks. Places left: 2, fewer than the minimum of 3."
    assert error.value.message.splitlines()[-1] == last
    assert [each.world_size for each in error.value.elastic.generations] == [4, 3]


def test_one_timeout_is_for_all_generations() -> None:
    def fail_slowly() -> None:
        if sandbox.generation() == 0:
            time.sleep(1)
            raise ValueError("boom")
        while True:
            time.sleep(0.1)

    start_s = time.monotonic()
    with pytest.raises(sandbox.RankTimeoutError) as error:
        sandbox.launch_elastic(fail_slowly, world_size=2, timeout_s=4)
    assert time.monotonic() - start_s < 20  # the default is 60 s
    first, last = error.value.elastic.generations
    assert first.ended == "failed"
    assert last.run.duration_s < 3.5
    assert error.value.message.splitlines()[-1] == (
        "This was generation 1, of 2 ranks. All generations together have timeout_s=4."
    )


def test_stop_ends_all_ranks_of_a_later_generation(tmp_path: Path) -> None:
    def hang(owner: int) -> None:
        if sandbox.generation() == 0:
            raise ValueError("boom")
        (tmp_path / str(os.getpid())).touch()
        dist.barrier()
        if dist.get_rank() == 0:
            os.kill(owner, signal.SIGINT)
        time.sleep(60)

    start_s = time.monotonic()
    with pytest.raises(RanksInterrupted):
        sandbox.launch_elastic(hang, os.getpid(), world_size=(2, 3))
    assert time.monotonic() - start_s < 20  # else it would take 60 s
    assert len(list(tmp_path.iterdir())) == 3
    assert not is_any_alive(tmp_path)


def test_whoever_waits_for_a_join_is_gone_in_the_next_generation(tmp_path: Path) -> None:
    def look() -> list[str]:
        before = [path.name for path in tmp_path.iterdir()]
        dist.barrier()
        (tmp_path / str(os.getpid())).touch()
        dist.barrier()
        return [pid for pid in before if psutil.pid_exists(int(pid))]

    faults = {0: [Lose(1, Collective(2))], 1: [Join(1, Collective(2))]}
    run = sandbox.launch_elastic(look, world_size=(1, 2), faults=faults)
    assert run.results == [[], []]
    assert len(list(tmp_path.iterdir())) == 5
    assert not is_any_alive(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"world_size": (4, 2)},
            r"world_size is \(4, 2\), expected \(minimum, maximum\), and 4 > 2",
        ),
        ({"world_size": (0, 4)}, "world_size is 0, expected a whole number from 1"),
        ({"world_size": "4"}, r"world_size is '4', expected \(minimum, maximum\), as in \(2, 4\)"),
        ({"world_size": (2, 3, 4)}, r"world_size is \(2, 3, 4\), expected"),
        ({"world_size": (2, 4.0)}, "world_size is 4.0"),
        ({"world_size": True}, "world_size is True"),
        ({"max_restarts": -1}, "max_restarts is -1, expected a whole number from 0"),
        ({"max_restarts": 1.5}, "max_restarts is 1.5"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"backend": "mpi"}, "backend is 'mpi'"),
        ({"init_process_group": 1}, "init_process_group is 1"),
        ({"max_restart": 3}, "did you mean max_restarts="),
        ({"faults": Kill(0, Collective(1))}, "expected a list"),
        ({"faults": {"0": []}}, "faults has the key '0', expected the number of a generation"),
        ({"faults": {-1: []}}, "faults has the key -1"),
        ({"faults": {1: Kill(0, Collective(1))}}, "expected a list"),
        ({"faults": {1: [Kill(4, Collective(1))]}}, "names rank 4, but world_size is 4"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    options: dict, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "get", lambda _: pytest.fail("something was started"))
    with pytest.raises(sandbox.LaunchError, match=words) as error:
        sandbox.launch_elastic(dist.barrier, **options)
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Join(0, Collective(1)), "Join: num_ranks is 0, expected a whole number from 1"),
        (lambda: Join(1, 3), r"Join: at is 3, expected Step\(n\)"),
        (lambda: Lose(-1, Collective(1)), "Lose: rank is -1"),
        (lambda: Lose(0, "now"), "Lose: at is 'now'"),
    ],
)
def test_a_bad_change_of_places_is_refused_where_it_is_written(make, words: str) -> None:
    with pytest.raises(sandbox.LaunchError, match=words):
        make()


def test_a_plain_launch_refuses_a_join() -> None:
    join = Join(1, Collective(1))
    words = r"^Join\(num_ranks=1, at=Collective\(1\)\) works in sandbox.launch_elastic alone\.$"
    with pytest.raises(sandbox.LaunchError, match=words):
        sandbox.launch(dist.barrier, faults=[join])
    with sandbox.World(2) as world, pytest.raises(sandbox.LaunchError, match=words):
        world.run(dist.barrier, faults=[join])
