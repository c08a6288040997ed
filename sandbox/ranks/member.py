"""One rank as the notebook's process sees it: its descriptors, and how its call goes."""

from __future__ import annotations

import enum
import os
import socket
from collections.abc import Iterator
from typing import Any

import psutil

from sandbox import backend
from sandbox.failure import Failure
from sandbox.ranks import wire

READ_BYTES = 1 << 18
SEND_TIMEOUT_S = 10.0  # a rank that is not busy reads at once; one that is stopped never


class State(enum.Enum):
    """How far a rank is in the current call."""

    IDLE = "idle"
    RUNNING = "running"
    RETURNED = "returned"
    FAILED = "failed"


class Member:
    """A rank's control socket, event pipe and output pipe, and the state of its call."""

    def __init__(self, rank: int, supervisor: socket.socket, settings: dict[str, Any]) -> None:
        self.rank = rank
        self.pid: int | None = None
        self.state = State.IDLE
        self._is_fresh = False
        self.outcome: Any = None  # bytes of the result, or a Failure
        self.ended: str | None = None  # how the process ended, if it did
        self.has_finished = False
        self.has_group = False  # or needs none: between calls it now has nothing more to do
        self._number = 0
        self.num_threads = 0  # left running by the last call
        self.bound: tuple[str, ...] | None = None  # after a rebuild: variables that use old groups
        self.site: str | None = None
        self.control, control = socket.socketpair()
        self.events, events = os.pipe()
        self.output, output = os.pipe()
        for fd in (self.events, self.output):
            os.set_blocking(fd, False)
        self._messages = wire.Inbox()
        self._records = wire.Inbox()
        environ = settings["environ"] | backend.rank_environment(
            rank, settings["world_size"], settings["backend"]
        )
        theirs = [control.fileno(), events, output]
        try:
            wire.send(supervisor, ("fork", rank, settings | {"environ": environ}), theirs)
        except (BrokenPipeError, ConnectionResetError):
            self.ended = "was never started, as the parent process of all ranks was killed,"
        control.close()
        os.close(events)
        os.close(output)

    def call(self, payload: bytes, faults: bytes, fresh: bool) -> None:
        """Send one call; a rank that is gone shows when its end is reported."""
        self.state, self._is_fresh = State.RUNNING, fresh
        self._tell("call", self._number, payload, faults, fresh)

    def clear(self) -> None:
        """Forget the last call; should it still answer, that counts for nothing."""
        self._number += 1
        self.state, self.outcome, self.has_finished, self.site = State.IDLE, None, False, None

    def rebuild(self, store_path: str, world_size: int) -> None:
        """Tell the rank to leave its groups; `bound` is set when it has."""
        self.bound = None
        self._tell("rebuild", store_path, world_size)

    def _tell(self, *message: Any) -> None:
        """Send a message to the rank."""
        try:
            self.control.settimeout(SEND_TIMEOUT_S)
            wire.send(self.control, message)
            self.control.settimeout(None)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it is gone: its supervisor reports that
        except TimeoutError:
            self.control.shutdown(socket.SHUT_RDWR)  # half a message: the rank ends, if it can

    def read_control(self) -> bool:
        """Take in answers; False when the rank's end of the socket is closed."""
        data = self._receive()
        if data is None:
            return True
        for message in self._messages.feed(data):
            self._take(message)
        return bool(data)

    def read_records(self) -> Iterator[tuple]:
        """Yield what the rank has published since the last call."""
        while data := read_available(self.events):
            for record in self._records.feed(data):
                if record[0] == "at":
                    self.site = record[1]
                else:
                    yield record

    @property
    def is_busy(self) -> bool:
        """Whether the function, or in a single call one of its threads, still runs."""
        return self.ended is None and self._is_open

    @property
    def died_in_call(self) -> bool:
        """Whether the process ended before its call did."""
        return self.ended is not None and self._is_open

    @property
    def is_done(self) -> bool:
        """Whether the rank will issue nothing more in this call."""
        is_idle = self.state is State.IDLE and self.has_group and self.num_threads == 0
        return self.has_finished or is_idle

    @property
    def _is_open(self) -> bool:
        waits_for_threads = self._is_fresh and self.state is State.RETURNED
        return self.state is State.RUNNING or (waits_for_threads and not self.has_finished)

    @property
    def is_stopped(self) -> bool:
        """Whether a signal stopped the process (SIGSTOP)."""
        try:
            return self.pid is not None and psutil.Process(self.pid).status() == "stopped"
        except psutil.NoSuchProcess:
            return False

    def close(self) -> None:
        """Close the descriptors."""
        self.control.close()
        os.close(self.events)
        os.close(self.output)

    def _receive(self) -> bytes | None:
        try:
            return self.control.recv(READ_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            return b""

    def _take(self, message: tuple) -> None:
        kind, *rest = message
        if kind == "rebuilt":
            (self.bound,) = rest
            self.has_group = False
            return
        if kind == "formed":
            self.has_group = True
            return
        if kind == "threads":
            (self.num_threads,) = rest
            self.has_finished |= self.state is State.RETURNED and self.num_threads == 0
            return
        number, *rest = rest
        if number != self._number:
            return
        if kind == "finished":
            self.has_finished = True
        elif kind == "result":
            self.state = State.RETURNED
            self.outcome, self.num_threads = rest
            self.has_finished = self.num_threads == 0 and not self._is_fresh
        else:
            assert kind == "error", kind
            fields, self.num_threads = rest
            self.state, self.outcome = State.FAILED, Failure(*fields)


def read_available(fd: int) -> bytes:
    """Return what a non-blocking descriptor holds now, b"" for nothing or its end."""
    try:
        return os.read(fd, READ_BYTES)
    except BlockingIOError:
        return b""
