"""Processes that end with their parent: what Linux offers for it, and what is left on macOS."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Collection, Iterator

import psutil

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_CHILD_SUBREAPER = 36


def end_with_parent(parent_pid: int, number: int = signal.SIGKILL) -> None:
    """Have the kernel signal this process when its parent ends (Linux; elsewhere EOF must do)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent_pid:  # it ended before we asked
        os._exit(1)


def go_on_at_parents_end() -> None:
    """Have the kernel continue this process, should it be stopped, when its parent ends (Linux).

    Only a process that runs sees its socket closed, and cleans up. (The signal comes already when
    the parent's thread that started us ends, and once more with each that inherits us: no harm.)
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT)


def adopt_orphans(on: bool = True) -> None:
    """Become the parent of every orphan below this process, so that none can slip away (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(on))


def end_descendants(keep: Collection[int] = ()) -> None:
    """Kill and reap every process below this one, whatever session it moved itself to.

    What is below the children in `keep` is spared. A killed process's children come to its parent
    or to us, hence the loop.
    """
    while _has_children(keep):
        for child in psutil.Process().children():
            if child.pid in keep:
                continue
            for process in [*child.children(recursive=True), child]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, 0)


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the end of the block, so that no message is sent by halves."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _has_children(keep: Collection[int]) -> bool:
    """Whether there is a child besides those in `keep`; without `keep`, reaps what has ended."""
    if keep:
        return any(child.pid not in keep for child in psutil.Process().children())
    try:  # no look through all processes of the machine where one system call will do
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return False
    return True


EXIT_NOTES = {  # what usually lies behind a signal that nobody here has sent
    signal.SIGKILL: "the system may have run out of memory",
    signal.SIGSEGV: "a crash in C++ code",
    signal.SIGBUS: "a crash in C++ code, or /dev/shm is full",
    signal.SIGFPE: "a crash in C++ code: an integer divided by zero",
    signal.SIGABRT: "C++ code gave up; what it printed says why",
    signal.SIGXCPU: "its limit of CPU time, RLIMIT_CPU, was reached",
}


def describe_exit(status: int) -> str:
    """Say how a process ended, from its wait status."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exited with code {code}"
    number = signal.Signals(-code)
    note = f" ({EXIT_NOTES[number]})" if number in EXIT_NOTES else ""
    return f"was killed by {number.name}{note}"
