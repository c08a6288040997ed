"""World: after an error, a death or a timeout the ranks go on, and what was lost is said."""

from __future__ import annotations

import os
import threading
import time

import psutil
import pytest
import torch
import torch.distributed as dist
from world_programs import count_calls, sum_ranks

import sandbox


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
        until_s = time.monotonic() + 20  # a death that the world hears of in a call is that call's
        assert world._crew.wait_until(lambda: world._crew.members[1].ended is not None, until_s)
        lost = "ranks 0, 1" if victim == "supervisor" else "rank 1"
        assert world.run(count_calls).results == ([1, 1] if victim == "supervisor" else [2, 1])
        assert f"without variables: {lost}" in capsys.readouterr().out
        assert world.run(sum_ranks).results == [1.0, 1.0]


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


def test_threads_that_have_ended_since_hide_no_deadlock() -> None:
    def leave_a_thread() -> None:
        release = threading.Event()
        threading.Thread(target=release.wait, daemon=True).start()
        threading.Timer(0.3, release.set).start()
        if dist.get_rank() == 1:
            dist.recv(torch.empty(1), 0)  # waits in a thread of ours, which lives on
        else:
            dist.send(torch.ones(1), 1)

    with sandbox.World(2) as world:
        world.run(leave_a_thread)
        with pytest.raises(
            sandbox.DeadlockError, match="rank 1 never called collective #1, all_reduce"
        ):
            world.run(lambda: sum_ranks() if dist.get_rank() == 0 else None)
