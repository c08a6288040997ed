"""The notebook's handle on its warm process: start it, ask it for a world, end it."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

import psutil

from sandbox import backend, progress, source
from sandbox.errors import LaunchError
from sandbox.ranks import wire

READY_TIMEOUT_S = 120.0  # imports take 3 s here; a cold disk or a busy laptop, more
NEEDS = {  # what code that uses the library contains -> the last of its modules to wait for
    rb"\bray\b": "ray.tune",
    rb"\bdeepspeed\b": "deepspeed.comm.mori",
}


@dataclass
class Warm:
    """A running warm process."""

    process: subprocess.Popen
    sock: socket.socket
    directory: str
    owner_pid: int
    is_ready: bool = False

    def _wait_ready(self) -> None:
        """Wait until the first imports are done, with a progress bar where that takes a while."""
        if self.is_ready:
            return
        self._wait_for(self.sock, "Warming up: importing torch, once per notebook", expected_s=4.0)
        try:
            wire.receive(self.sock)
        except EOFError:
            raise LaunchError(f"the warm process ended at its start.\n{self.log()}") from None
        self.is_ready = True

    def fork_supervisor(
        self, needs: Collection[str]
    ) -> tuple[socket.socket, psutil.Process] | None:
        """Return a new world's supervisor and its socket, once the modules `needs` are imported.

        None where the warm process was killed since its start: a new one will do.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs, _lock:
                self._wait_ready()
                wire.send(self.sock, ("fork", tuple(needs)), [theirs.fileno()])
            self._wait_for(ours, "Warming up: importing Ray and DeepSpeed", expected_s=5.0)
            kind, _, detail = wire.receive(ours)[0]
            if kind == "refused":
                self.end()  # what was done to it cannot be undone: the next launch starts another
                raise LaunchError(detail)
            return ours, psutil.Process(detail)
        except (EOFError, BrokenPipeError, ConnectionResetError, psutil.NoSuchProcess):
            ours.close()
            if self.is_ready and self._has_died():
                return None
            raise LaunchError(f"the warm process could not fork ranks.\n{self.log()}") from None
        except BaseException:
            ours.close()  # a supervisor that comes later finds it closed, and ends
            raise

    def _wait_for(self, sock: socket.socket, text: str, expected_s: float) -> None:
        """Wait until `sock` has something to read, with a bar where that takes a while."""
        end_s = time.monotonic() + READY_TIMEOUT_S
        with progress.waiting(text, expected_s) as tick:
            while not select.select([sock], [], [], 0.1)[0]:
                tick()
                if time.monotonic() > end_s:
                    self.end()
                    raise LaunchError(
                        f"the warm process did not answer for {READY_TIMEOUT_S:g} s and was ended. "
                        "Hint: run the cell again; a new one starts."
                    )

    def log(self) -> str:
        """Return the last lines that the warm process printed: why an import or a fork failed."""
        try:
            with open(os.path.join(self.directory, "log"), errors="replace") as file:
                return "".join(file.readlines()[-20:])
        except FileNotFoundError:
            return ""

    def new_directory(self, prefix: str) -> str:
        """Return a new directory in ours, which a cleaner of temporary files may have removed."""
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        return tempfile.mkdtemp(prefix=prefix, dir=self.directory)

    def _has_died(self) -> bool:
        """Whether the process is gone; one that was killed just now gets a moment."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        return self.process.poll() is not None

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked; a forked child of the notebook's process must start its own."""
        return self.owner_pid == os.getpid() and self.process.poll() is None

    def end(self) -> None:
        """Close the socket: the warm process ends all below it and leaves."""
        self.sock.close()
        if self.owner_pid != os.getpid():
            return
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


_lock = threading.Lock()  # two threads of a notebook may launch at once
_running: dict[str, Warm] = {}  # one per accelerator
_preloaded: set[str] = set()


def get(name: str = "gloo") -> Warm:
    """Return this process's warm process for a backend, started (not yet ready) if need be."""
    with _lock:
        warm = _running.get(name)
        if warm is None or not warm.is_alive:
            if warm is not None:
                warm.end()
            warm = _running[name] = _start(name)
        return warm


def fork_supervisor(
    name: str, needs: Collection[str]
) -> tuple[Warm, socket.socket, psutil.Process]:
    """Return a warm process, and a new world's supervisor that it has forked, with its socket."""
    for _ in range(2):
        warm = get(name)
        if supervisor := warm.fork_supervisor(needs):
            return warm, *supervisor
    raise LaunchError("the warm process was killed twice in a row. Hint: run the cell again.")


def find_needs(fn: Callable[..., object], payload: bytes) -> set[str]:
    """Return the modules that a rank would import for seconds, were the call sent before we have.

    Only its speed depends on it: a function of the notebook is in `payload`, of another in a file
    of the learner's the file is read.
    """
    text = payload
    path = getattr(sys.modules.get(getattr(fn, "__module__", "")), "__file__", None)
    if path and source.is_learners(path) and os.path.exists(path):
        with open(path, "rb") as file:
            text += file.read()
    return _preloaded | {module for pattern, module in NEEDS.items() if re.search(pattern, text)}


def preload(module: str) -> None:
    """Have the warm process import `module` before the next launch, rather than every rank.

    It must be installed, and its import start no thread and touch no accelerator: ranks are forks.
    """
    _preloaded.add(module)


def end_all() -> None:
    """End every warm process of this one; the next launch starts anew."""
    while _running:
        _running.popitem()[1].end()


def _start(name: str) -> Warm:
    _remove_stale_directories()
    directory = tempfile.mkdtemp(prefix=f"shardlab-{os.getpid()}-")
    ours, theirs = socket.socketpair()
    environ = os.environ | backend.warm_environment(name) | {"TMPDIR": tempfile.gettempdir()}
    with theirs, open(os.path.join(directory, "log"), "wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "sandbox.ranks.zygote", str(theirs.fileno()), directory],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environ,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Stop sends SIGINT to the kernel's whole process group
        )
    return Warm(child, ours, directory, os.getpid())


def _remove_stale_directories() -> None:
    """Remove what a warm process left that was killed together with its notebook."""
    parent = tempfile.gettempdir()
    for name in os.listdir(parent):
        match = re.fullmatch(r"shardlab-(\d+)-\w+", name)
        if match and not psutil.pid_exists(int(match[1])):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


atexit.register(end_all)
