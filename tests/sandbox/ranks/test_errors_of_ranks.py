"""What goes wrong in a rank becomes one message, the culprit first."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest
import torch
import torch.distributed as dist

import sandbox


def fail_on(rank: int) -> None:
    if dist.get_rank() == rank:
        raise ValueError("3 rows are left over")
    dist.barrier()


def test_the_culprit_comes_first_with_its_line_and_the_others_in_one_line_each() -> None:
    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(fail_on, 2, world_size=4)
    error = caught.value
    first, site, *_ = str(error).splitlines()
    line = fail_on.__code__.co_firstlineno + 2
    assert first == "rank 2 raised ValueError: 3 rows are left over"
    assert site.endswith(f"test_errors_of_ranks.py, line {line}")
    assert (error.rank, error.exc_type, error.exc_message) == (
        2,
        "ValueError",
        "3 rows are left over",
    )
    assert error.site == f"{__file__}:{line}"
    assert "raise ValueError" in error.traceback_text
    assert str(error).count("Traceback") == 1
    assert str(error).splitlines()[-1].startswith("ranks 0, 1, 3: ")


def test_ranks_that_fail_alike_share_the_message() -> None:
    def divide() -> float:
        return 1 / 0

    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(divide, world_size=4)
    assert str(caught.value).startswith("ranks 0-3 raised ZeroDivisionError: division by zero")
    assert caught.value.rank == 0


def test_ranks_that_differ_in_addresses_alone_fail_alike() -> None:
    def fail() -> None:
        raise ValueError(f"no such group: {object()}")

    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(fail, world_size=3)
    first, *rest = str(caught.value).splitlines()
    assert first == "ranks 0-2 raised ValueError: no such group: <object object at 0x…>"
    assert not any(line.startswith("rank") for line in rest)


def send_to(peer: int) -> None:
    dist.send(torch.ones(1), peer)


def broadcast_from(root: int) -> None:
    dist.broadcast(torch.ones(1), src=root)


def gather_into(numel: int) -> None:
    dist.all_gather_single(torch.ones(numel), torch.ones(5))


def pair_from(root: int) -> None:
    pair = dist.new_group([0, 1])
    dist.broadcast(torch.ones(1), src=root, group=pair)


@pytest.mark.parametrize(
    ("call", "argument", "said"),
    [
        (broadcast_from, 7, "invalid root rank: 7"),
        (broadcast_from, -1, "invalid root rank: -1"),
        (gather_into, 3, "invalid tensor size at index 0"),
        (send_to, 9, "there is no rank 9 in the group, expected 0 to 1."),
        (pair_from, 7, "Global rank 7 is not part of group <ProcessGroup of ranks 0, 1>"),
    ],
)
def test_arguments_that_are_refused_show_the_learners_frames_and_torchs(
    call, argument: int, said: str
) -> None:
    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(call, argument, world_size=2)
    assert str(caught.value).startswith("ranks 0, 1 raised ")
    assert said in str(caught.value).splitlines()[0]
    assert "sandbox/observing" not in str(caught.value)
    assert "while handling" not in str(caught.value)
    assert f"in {call.__name__}" in caught.value.traceback_text


def test_what_the_others_had_returned_is_kept() -> None:
    def fail_last() -> int:
        if dist.get_rank() == 2:
            raise KeyError("weight")
        return dist.get_rank()

    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(fail_last, world_size=3)
    assert caught.value.run.results == [0, 1, None]


def test_the_cause_of_an_exception_is_shown_before_it() -> None:
    def chain() -> None:
        try:
            int("x")
        except ValueError as error:
            raise RuntimeError("bad config") from error

    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(chain, world_size=1)
    text = caught.value.traceback_text
    assert text.index("invalid literal") < text.index("which led to") < text.index("bad config")


@pytest.mark.parametrize("status", [0, 3])
def test_os_exit_is_a_death_with_its_code(status: int) -> None:
    def leave() -> None:
        if dist.get_rank() == 1:
            os._exit(status)
        dist.barrier()

    with pytest.raises(sandbox.RankDiedError) as caught:
        sandbox.launch(leave, world_size=3)
    assert str(caught.value).startswith(
        f"rank 1 exited with code {status} before the call was over."
    )
    assert caught.value.rank == 1
    assert "\n  Its first operation was still to come.\n" in str(caught.value)


def test_a_dead_rank_is_told_by_what_it_had_issued_last() -> None:
    def leave_after_two() -> None:
        for _ in range(2):
            dist.all_reduce(torch.ones(3))
        if dist.get_rank() in (1, 2):
            os._exit(3)
        dist.barrier()

    with pytest.raises(sandbox.RankDiedError) as caught:
        sandbox.launch(leave_after_two, world_size=3)
    line = leave_after_two.__code__.co_firstlineno + 2
    assert "Their last operation: collective #2, all_reduce, of ranks 0-2 at " in str(caught.value)
    assert caught.value.site == f"{__file__}:{line}"


def test_arguments_of_new_group_that_torch_refuses_come_before_members_that_differ() -> None:
    def ask_for_no_backend() -> None:
        if dist.get_rank() == 0:
            dist.new_group([0, 1])
        else:
            dist.new_group([1, 0], backend="ucc", sort_ranks=False)

    with pytest.raises(sandbox.RankError, match=r"rank 1 raised \w+: .*UCC"):
        sandbox.launch(ask_for_no_backend, world_size=2)


def test_a_killed_rank_is_named_with_the_signal() -> None:
    def die() -> None:
        if dist.get_rank() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()

    with pytest.raises(sandbox.RankDiedError, match="rank 0 was killed by SIGKILL"):
        sandbox.launch(die, world_size=2)


@pytest.mark.parametrize("leave", [lambda: sys.exit(3), lambda: exit(), lambda: 1 / 0])
def test_system_exit_is_an_error_like_any_other(leave) -> None:
    with pytest.raises(sandbox.RankError, match="ranks 0, 1 raised (SystemExit|ZeroDivision)"):
        sandbox.launch(leave, world_size=2)


def test_an_endless_loop_is_shown_with_its_line_at_the_timeout() -> None:
    def spin() -> None:
        while dist.get_rank() == 1:
            pass

    with sandbox.World(2) as world:
        world.run(dist.barrier)  # both are there: the second that follows is the loop's
        with pytest.raises(sandbox.RankTimeoutError) as caught:
            world.run(spin, timeout_s=1.0)
    assert str(caught.value).startswith("rank 1 still ran after 1 s.")
    assert f"rank 1: running {os.path.relpath(__file__)}, line" in str(caught.value)
    assert "rank 0: returned" in str(caught.value)
    assert caught.value.rank == 1


def test_a_stopped_rank_is_said_to_be_stopped() -> None:
    def stop() -> None:
        if dist.get_rank() == 0:
            os.kill(os.getpid(), signal.SIGSTOP)

    with sandbox.World(2) as world:
        world.run(dist.barrier)
        with pytest.raises(sandbox.RankTimeoutError, match=r"rank 0: stopped \(SIGSTOP\)"):
            world.run(stop, timeout_s=1.0)


def test_an_exception_that_cannot_be_shown_is_still_reported() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def fail() -> None:
        raise Broken

    with pytest.raises(sandbox.RankError, match="ranks 0, 1 raised .*Broken"):
        sandbox.launch(fail, world_size=2)


def test_a_notebook_shows_the_message_alone() -> None:
    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(fail_on, 0, world_size=1)
    assert caught.value._render_traceback_() == [f"RankError: {caught.value}"]


def test_an_error_while_unpickling_is_the_ranks_error() -> None:
    class Unloadable:
        def __reduce__(self):
            return (int, ("not a number",))

    with pytest.raises(sandbox.RankError, match="ranks 0, 1 raised ValueError: invalid literal"):
        sandbox.launch(print, Unloadable(), world_size=2)


def test_a_slow_rank_is_not_an_error() -> None:
    def slow() -> float:
        if dist.get_rank() == 0:
            time.sleep(0.7)
        total = torch.ones(1)
        dist.all_reduce(total)
        return total.item()

    assert sandbox.launch(slow, world_size=2).results == [2.0, 2.0]
