"""Nothing is left behind: no process, file or directory, however a notebook or a rank ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
import torch.distributed as dist

import sandbox
from sandbox.ranks import warm

DEADLINE_S = 20.0


def wait_until_gone(pids: list[int]) -> None:
    _, alive = psutil.wait_procs(
        [psutil.Process(p) for p in pids if psutil.pid_exists(p)], DEADLINE_S
    )
    assert not alive, f"still running: {alive}"


def wait_until_stopped(pid: int) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < end_s


def spawn_children() -> list[int]:
    """Start a plain child, one in a session of its own, and an orphan of such a one."""
    plain = subprocess.Popen(["sleep", "600"])
    apart = subprocess.Popen(["sleep", "600"], start_new_session=True)
    shell = "setsid sleep 600 >/dev/null & echo $!"
    orphan = subprocess.run(["sh", "-c", shell], stdout=subprocess.PIPE, check=True)
    return [os.getpid(), plain.pid, apart.pid, int(orphan.stdout.split()[0])]


def forked_child() -> int:
    if (child := os.fork()) == 0:
        time.sleep(600)
    return child


def test_children_of_ranks_are_gone_when_launch_returns() -> None:
    pids = [
        pid for result in sandbox.launch(spawn_children, world_size=2).results for pid in result
    ]
    pids += sandbox.launch(forked_child, world_size=2).results
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


def test_a_child_that_returns_from_the_function_does_not_answer_for_its_parent() -> None:
    def fork_and_return() -> bool:
        return os.fork() == 0

    assert sandbox.launch(fork_and_return, world_size=2).results == [False, False]


def test_children_of_a_failed_rank_are_gone_too(tmp_path: Path) -> None:
    def spawn_and_fail() -> None:
        (tmp_path / str(dist.get_rank())).write_text(" ".join(map(str, spawn_children())))
        raise ValueError

    with pytest.raises(sandbox.RankError):
        sandbox.launch(spawn_and_fail, world_size=2)
    pids = [int(pid) for path in tmp_path.iterdir() for pid in path.read_text().split()]
    assert len(pids) == 8
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


def test_no_directory_or_descriptor_stays() -> None:
    sandbox.launch(os.getpid, world_size=2)
    directory = Path(warm.get().directory)
    before = len(os.listdir("/dev/fd"))
    sandbox.launch(os.getpid, world_size=4)
    with pytest.raises(sandbox.RankError):
        sandbox.launch(lambda: 1 / 0, world_size=2)
    assert len(os.listdir("/dev/fd")) == before
    assert [path.name for path in directory.iterdir()] == ["log"]


NOTEBOOK = """
    import os, sys, time
    import sandbox
    from sandbox.ranks import warm

    def hang():
        import subprocess
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        print(os.getpid(), child.pid, flush=True)
        time.sleep(600)

    print(warm.get().process.pid, warm.get().directory, flush=True)
    if __name__ == "__main__":
        sandbox.launch(hang, world_size=2, timeout_s=600)
"""


ONLY_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux continues a process")


@pytest.mark.parametrize(
    "end", ["kill", "terminate", "zygote", pytest.param("stopped zygote", marks=ONLY_LINUX)]
)
def test_killing_the_notebook_or_its_warm_process_ends_every_rank(end: str, tmp_path: Path) -> None:
    script = tmp_path / "notebook.py"
    script.write_text(textwrap.dedent(NOTEBOOK))
    notebook = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert notebook.stdout is not None
    zygote, directory = notebook.stdout.readline().split()
    pids = [int(zygote)]
    while len(pids) < 5:
        pids += [int(pid) for pid in notebook.stdout.readline().partition(": ")[2].split()]
    if end == "zygote":
        os.kill(int(zygote), signal.SIGKILL)
    elif end == "stopped zygote":
        os.kill(int(zygote), signal.SIGSTOP)
        wait_until_stopped(int(zygote))
        notebook.kill()
    else:
        getattr(notebook, end)()
    notebook.communicate(timeout=DEADLINE_S)
    wait_until_gone(pids)
    assert not os.path.exists(directory)


def test_a_launch_after_the_warm_process_was_killed_starts_a_new_one() -> None:
    sandbox.launch(os.getpid, world_size=1)
    warm.get().process.kill()
    warm.get().process.wait(DEADLINE_S)
    assert len(sandbox.launch(os.getpid, world_size=2).results) == 2


def test_the_directory_of_a_notebook_that_is_long_gone_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait(DEADLINE_S)
    stale, ours = tmp_path / f"shardlab-{ended.pid}-x", tmp_path / f"shardlab-{os.getpid()}-x"
    stale.mkdir()
    ours.mkdir()
    warm._remove_stale_directories()
    assert (stale.exists(), ours.exists()) == (False, True)
