"""World: ranks keep their variables, and live through errors, interrupts and resizes."""

from __future__ import annotations

import os
import signal
import threading
import time

import psutil
import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox.errors import RanksInterrupted


def count_calls() -> int:
    import __main__

    __main__.calls = getattr(__main__, "calls", 0) + 1
    return __main__.calls


def sum_ranks() -> float:
    total = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(total)
    return total.item()


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


def test_an_error_in_one_rank_leaves_the_variables_and_new_groups() -> None:
    def skip_on_rank_1() -> None:
        if dist.get_rank() == 1:
            raise ValueError("before the collective")
        sum_ranks()

    with sandbox.World(3) as world:
        world.run(count_calls)
        with pytest.raises(sandbox.RankError, match="rank 1 raised ValueError"):
            world.run(skip_on_rank_1)
        assert world.run(count_calls).results == [2, 2, 2]
        assert world.run(sum_ranks).results == [3.0] * 3


def test_a_slip_on_all_ranks_keeps_the_groups() -> None:
    def remember_group() -> int:
        import __main__

        __main__.group = dist.group.WORLD
        return 0

    def same_group() -> bool:
        import __main__

        return __main__.group is dist.group.WORLD

    with sandbox.World(2) as world:
        world.run(remember_group)
        world.run(sum_ranks)
        with pytest.raises(sandbox.RankError, match="ranks 0, 1 raised NameError"):
            world.run(lambda: undefined)  # noqa: F821
        assert world.run(same_group).results == [True, True]
        assert world.run(sum_ranks).results == [1.0, 1.0]


def test_a_dead_rank_is_replaced_and_its_loss_is_said() -> None:
    def die_on_rank_1() -> None:
        if dist.get_rank() == 1:
            os._exit(7)
        dist.barrier()

    with sandbox.World(2) as world:
        world.run(count_calls)
        with pytest.raises(
            sandbox.RankDiedError,
            match=r"(?s)rank 1 exited with code 7.*without its variables: rank 1",
        ):
            world.run(die_on_rank_1)
        assert world.run(count_calls).results == [2, 1]
        assert world.run(sum_ranks).results == [1.0, 1.0]


def stop_the_owner_when_all_run(owner: int) -> None:
    dist.barrier()
    if dist.get_rank() == 0:
        time.sleep(0.3)  # rank 1 has waited long enough to be known to
        os.kill(owner, signal.SIGINT)
    if dist.get_rank() == 1:
        sum_ranks()  # the others never join
    time.sleep(60)


def test_stop_ends_a_hung_call_within_a_second_and_variables_survive() -> None:
    with sandbox.World(3) as world:
        world.run(count_calls)
        start_s = time.monotonic()
        with pytest.raises(RanksInterrupted, match="rank 1: waiting for ranks 0, 2 in all_reduce"):
            world.run(stop_the_owner_when_all_run, os.getpid())
        assert time.monotonic() - start_s < 5  # a hang would take the 30 s of the timeout
        assert world.run(count_calls).results == [2, 2, 2]
        assert world.run(sum_ranks).results == [3.0] * 3


def test_a_rank_that_ignores_stop_is_killed_and_named() -> None:
    def swallow(owner: int) -> None:
        dist.barrier()
        stops = num_stops
        while dist.get_rank() == 1:
            try:
                stops -= 1
                if stops >= 0:
                    os.kill(owner, signal.SIGINT)
                time.sleep(60)
            except KeyboardInterrupt:
                continue

    num_stops = 1
    with sandbox.World(2) as world:
        world.run(count_calls)
        with pytest.raises(RanksInterrupted, match="killed: rank 1"):
            world.run(swallow, os.getpid())
        assert world.run(count_calls).results == [2, 1]
        num_stops = 2
        with pytest.raises(RanksInterrupted, match="Stopped twice: all ranks were ended"):
            world.run(swallow, os.getpid())
        assert world.run(count_calls).results == [1, 1]


def test_stop_in_a_launch_ends_all_ranks() -> None:
    with pytest.raises(RanksInterrupted):
        sandbox.launch(stop_the_owner_when_all_run, os.getpid(), world_size=2)


def test_interrupt_from_another_thread_raises_in_the_ranks() -> None:
    started = threading.Event()

    class Watched(sandbox.World):
        def _take_output(self, rank: int, data: bytes) -> None:
            super()._take_output(rank, data)
            started.set()

    def wait() -> None:
        dist.barrier()  # both have begun
        print("running")
        time.sleep(60)

    with Watched(2) as world:
        world.run(count_calls)
        thread = threading.Thread(target=lambda: started.wait(30) and world.interrupt())
        thread.start()
        with pytest.raises(sandbox.RankError, match="ranks 0, 1 raised KeyboardInterrupt"):
            world.run(wait)
        thread.join()
        assert world.run(count_calls).results == [2, 2]


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


def test_variables_bound_to_old_groups_are_named() -> None:
    def make_sharded() -> None:
        from torch.distributed.fsdp import fully_shard

        import __main__

        __main__.model = fully_shard(torch.nn.Linear(4, 4))
        __main__.plain = torch.nn.Linear(2, 2)

    def hang() -> None:
        if dist.get_rank() == 0:
            raise ValueError
        sum_ranks()

    with sandbox.World(2) as world:
        world.run(make_sharded)
        with pytest.raises(sandbox.RankError, match="build again what uses the old: model"):
            world.run(hang)


def test_a_timeout_in_a_world_is_recovered_from() -> None:
    def spin() -> None:
        while dist.get_rank() == 0:
            pass

    with sandbox.World(2, timeout_s=30) as world:
        with pytest.raises(sandbox.RankTimeoutError, match="rank 0 still ran after 0.5 s"):
            world.run(spin, timeout_s=0.5)
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


def test_a_late_answer_is_not_taken_for_the_next_calls() -> None:
    class Unloadable:
        def __reduce__(self):
            return (int, ("not a number",))

    def answer_late(release: str) -> object:
        if dist.get_rank() == 0:
            return Unloadable()
        while not os.path.exists(release):
            time.sleep(0.01)
        return "old"

    with sandbox.World(2, timeout_s=1.0) as world:
        world.run(count_calls)
        with pytest.raises(sandbox.RankTimeoutError):
            world.run(answer_late, "/nonexistent")
        assert world.run(lambda: "new", timeout_s=20).results == ["new", "new"]


def test_a_start_that_fails_leaves_a_world_that_can_start(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.syspath_prepend(tmp_path)  # a Path, where strings are expected
    with sandbox.World(2) as world, monkeypatch.context() as patch:
        patch.chdir(gone)
        gone.rmdir()
        with pytest.raises(sandbox.LaunchError, match="current folder no longer exists"):
            world.run(count_calls)
        patch.undo()
        monkeypatch.chdir(tmp_path)
        assert world.run(count_calls).results == [1, 1]


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


@pytest.mark.parametrize("victim", ["supervisor", "rank"])
def test_what_was_killed_between_calls_is_started_anew_and_said(
    victim: str, capsys: pytest.CaptureFixture
) -> None:
    with sandbox.World(2) as world:
        world.run(count_calls)
        rank = psutil.Process(world.run(os.getpid).results[1])
        process = rank.parent() if victim == "supervisor" else rank
        process.kill()
        psutil.wait_procs([process], 20)
        lost = "ranks 0, 1" if victim == "supervisor" else "rank 1"
        assert world.run(count_calls).results == ([1, 1] if victim == "supervisor" else [2, 1])
        assert f"without variables: {lost}" in capsys.readouterr().out
        assert world.run(sum_ranks).results == [1.0, 1.0]


def test_a_stopped_supervisor_does_not_keep_the_world_open() -> None:
    world = sandbox.World(1)
    rank = psutil.Process(world.run(os.getpid).results[0])
    rank.parent().suspend()
    world.close()
    _, alive = psutil.wait_procs([rank], 20)
    assert not alive


def test_a_daemon_thread_is_waited_for_before_a_deadlock_is_proven() -> None:
    def join_later() -> None:
        def add() -> None:
            time.sleep(0.5)
            sum_ranks()

        if dist.get_rank() == 1:
            threading.Thread(target=add, daemon=True).start()
        else:
            sum_ranks()

    with sandbox.World(2) as world:
        world.run(join_later)
