"""What breaks under a running sandbox: its directory, its processes, descriptors, the caller."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox.ranks import warm


def sum_ranks() -> float:
    total = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(total)
    return total.item()


def test_a_removed_directory_is_made_again_and_variables_survive(
    capfd: pytest.CaptureFixture,
) -> None:
    def count() -> int:
        import __main__

        __main__.calls = getattr(__main__, "calls", 0) + 1
        dist.new_group([0, 1])  # meets through a file
        return __main__.calls

    with sandbox.World(2) as world:
        assert world.run(count).results == [1, 1]
        shutil.rmtree(warm.get().directory)
        assert world.run(count).results == [2, 2]
        assert sandbox.launch(sum_ranks, world_size=3).results == [3.0] * 3
    assert os.listdir(warm.get().directory) == []


def test_a_warm_process_killed_right_before_a_launch_is_replaced() -> None:
    sandbox.launch(sum_ranks, world_size=1)
    process = warm.get().process
    get, seen = warm.get, []

    def get_and_kill(name: str) -> warm.Warm:
        found = get(name)
        if not seen:
            os.kill(process.pid, signal.SIGKILL)
        seen.append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm, "get", get_and_kill)
        assert sandbox.launch(sum_ranks, world_size=2).results == [1.0, 1.0]
    assert len(seen) == 2


def test_ranks_that_lose_their_parent_are_described_together() -> None:
    def kill_parent() -> None:
        if dist.get_rank() == 0:
            os.kill(os.getppid(), signal.SIGKILL)
        dist.barrier()
        threading.Event().wait()

    with pytest.raises(sandbox.RankDiedError, match=r"^ranks 0, 1 were lost, as the parent"):
        sandbox.launch(kill_parent, world_size=2)


@pytest.mark.parametrize(
    ("number", "hint"), [(signal.SIGSEGV, "a crash in C++"), (signal.SIGKILL, "out of memory")]
)
def test_a_signal_comes_with_what_usually_lies_behind_it(number: int, hint: str) -> None:
    def die() -> None:
        signal.raise_signal(number)

    with pytest.raises(sandbox.RankDiedError, match=re.escape(hint)):
        sandbox.launch(die, world_size=1)


def test_a_rank_that_closes_our_descriptors_is_told_so(capfd: pytest.CaptureFixture) -> None:
    def close_all() -> None:
        os.closerange(3, 200)

    with pytest.raises(sandbox.RankDiedError, match="exited with code 1"):
        sandbox.launch(close_all, world_size=2)
    out, _ = capfd.readouterr()
    assert "os.closerange closes other file descriptors" in out
    assert "Traceback" not in out


def test_a_rank_may_close_its_output() -> None:
    def close_output(prints: bool) -> int:
        os.close(1)
        os.close(2)
        if prints:
            print("not seen")
        return 1

    assert sandbox.launch(close_output, False, world_size=2).results == [1, 1]
    with pytest.raises(sandbox.RankError, match="Bad file descriptor"):
        sandbox.launch(close_output, True, world_size=2)


def _closed() -> io.TextIOBase:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("new_stdout", [_closed, lambda: io.TextIOWrapper(io.BytesIO(), "ascii")])
def test_the_callers_stdout_may_be_closed_or_narrow(
    monkeypatch: pytest.MonkeyPatch, new_stdout: Callable
) -> None:
    stdout = new_stdout()
    monkeypatch.setattr(sys, "stdout", stdout)
    assert sandbox.launch(lambda: print("né…"), world_size=1).output == ["né…\n"]
    if not stdout.closed:
        stdout.flush()
        assert stdout.buffer.getvalue() == b"rank 0: n??\n"


def test_what_gloo_prints_of_a_mismatch_is_left_to_the_error(
    capfd: pytest.CaptureFixture,
) -> None:
    def disagree() -> None:
        dist.barrier()
        dist.all_reduce(torch.ones(3 if dist.get_rank() else 1000))

    with pytest.raises(sandbox.CollectiveMismatchError) as caught:
        sandbox.launch(disagree, world_size=2)
    assert "gloo" not in capfd.readouterr().out + "".join(caught.value.run.output)


def test_what_gloo_prints_without_a_mismatch_is_shown(capfd: pytest.CaptureFixture) -> None:
    line = "terminate called after throwing an instance of 'gloo::EnforceNotMet'"

    def abort() -> None:
        print(line)
        os.abort()

    with pytest.raises(sandbox.RankDiedError, match="SIGABRT"):
        sandbox.launch(abort, world_size=1)
    assert line in capfd.readouterr().out


def test_what_threads_print_between_calls_is_shown_with_the_next(
    capfd: pytest.CaptureFixture,
) -> None:
    def start() -> None:
        import __main__

        def speak() -> None:
            __main__.gate.wait()
            print("late")

        __main__.gate = threading.Event()
        __main__.thread = threading.Thread(target=speak)
        __main__.thread.start()
        threading.Timer(0.05, __main__.gate.set).start()

    def join() -> None:
        import __main__

        __main__.thread.join()

    with sandbox.World(1) as world:
        world.run(start)
        member = world._crew.members[0]
        assert world._crew.wait_until(lambda: any(world._output._merge._queues), 20 + _now())
        assert member.ended is None
        world.run(join)
    assert "rank 0: late" in capfd.readouterr().out


def _now() -> float:
    import time

    return time.monotonic()


def test_resize_is_refused_and_close_ends_the_call_of_another_thread() -> None:
    world = sandbox.World(2)
    world.run(sum_ranks)
    errors: list[BaseException] = []

    def wait_for_ever() -> None:
        if dist.get_rank() == 0:
            threading.Event().wait()
        dist.barrier()

    def call() -> None:
        try:
            world.run(wait_for_ever)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not world._crew.busy():
        pass
    with pytest.raises(sandbox.LaunchError, match="running another call"):
        world.resize(3)
    assert world.world_size == 2
    world.close()
    thread.join(20)
    assert not thread.is_alive()
    assert isinstance(errors[0], sandbox.SandboxError)
    assert world._crew is None
