"""World: ranks keep their variables between calls, can be more or fewer, and end."""

from __future__ import annotations

import os

import psutil
import pytest
import torch.distributed as dist
from world_programs import count_calls, sum_ranks

import sandbox
from sandbox.ranks import crew


def test_variables_live_on_between_calls_and_end_with_reset() -> None:
    with sandbox.World(2) as world:
        assert world.run(count_calls).results == [1, 1]
        assert world.run(count_calls).results == [2, 2]
        world.reset()
        assert world.run(count_calls).results == [1, 1]


def test_the_processes_stay_the_same_and_are_gone_after_the_block() -> None:
    with sandbox.World(3) as world:
        first = world.run(os.getpid).results
        assert world.run(os.getpid).results == first
    assert not any(psutil.pid_exists(pid) for pid in first)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_resize_keeps_the_first_ranks_and_forms_a_new_group(size: int) -> None:
    with sandbox.World(3) as world:
        world.run(count_calls)
        pids = world.run(os.getpid).results
        world.resize(size)
        assert world.run(os.getpid).results[:3] == pids[:size]
        assert world.run(count_calls).results == [2, 2, 2, 1, 1][:1] * min(size, 3) + [1] * (
            size - 3
        )
        assert world.run(sum_ranks).results == [size * (size - 1) / 2] * size
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_resize_before_the_first_call() -> None:
    with sandbox.World(3) as world:
        world.resize(2)
        assert world.run(sum_ranks).results == [1.0, 1.0]


def test_close_twice_and_run_again() -> None:
    world = sandbox.World(2)
    world.close()
    assert world.run(sum_ranks).results == [1.0, 1.0]
    world.close()
    world.close()


def test_a_ranks_own_variable_stays_when_the_notebook_has_one_of_that_name() -> None:
    import __main__

    def set_value() -> None:
        global shared_name
        shared_name = f"rank {dist.get_rank()}"

    def get_value() -> str:
        return shared_name

    def as_of_the_notebook(function):
        """Return the function with globals of __main__, as cells have them."""
        return type(function)(function.__code__, __main__.__dict__, function.__name__)

    __main__.shared_name, __main__.dist = "notebook", dist
    try:
        with sandbox.World(2) as world:
            assert world.run(as_of_the_notebook(get_value)).results == ["notebook"] * 2
            __main__.shared_name = "newer"
            assert world.run(as_of_the_notebook(get_value)).results == ["newer"] * 2
            world.run(as_of_the_notebook(set_value))
            assert world.run(as_of_the_notebook(get_value)).results == ["rank 0", "rank 1"]
    finally:
        del __main__.shared_name, __main__.dist


def test_a_second_thread_is_refused_while_a_call_runs() -> None:
    errors: list[str] = []

    class Watched(sandbox.World):
        def _take_output(self, rank: int, data: bytes) -> None:
            super()._take_output(rank, data)
            try:
                self.run(count_calls)
            except sandbox.LaunchError as error:
                errors.append(str(error))

    with Watched(2) as world:
        world.run(print, "running")
        assert world.run(count_calls).results == [1, 1]
    assert "is running another call" in errors[0]


def test_a_stopped_supervisor_does_not_keep_the_world_open(monkeypatch) -> None:
    monkeypatch.setattr(crew, "END_TIMEOUT_S", 1.0)  # it will not answer
    world = sandbox.World(1)
    rank = psutil.Process(world.run(os.getpid).results[0])
    rank.parent().suspend()
    world.close()
    _, alive = psutil.wait_procs([rank], 20)
    assert not alive
