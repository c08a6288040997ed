"""The ranks of one world and their supervisor: fork, signal, listen, end them all."""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import psutil

from sandbox.ranks import wire
from sandbox.ranks.member import Member, read_available

END_TIMEOUT_S = 10.0


class Crew:
    """Members by rank, and the socket of the one process that may signal them: their parent."""

    def __init__(
        self,
        supervisor: socket.socket,
        process: psutil.Process,
        take_output: Callable[[int, bytes], None],
    ) -> None:
        self.members: list[Member] = []
        self.is_lost = False  # the supervisor is gone, and with it every rank
        self._process = process
        self.take_output = take_output
        self._supervisor = supervisor
        self._inbox = wire.Inbox()
        self._selector = selectors.DefaultSelector()
        self._selector.register(supervisor, selectors.EVENT_READ)

    def fork(self, rank: int, settings: dict[str, Any]) -> None:
        """Start a rank in the place of a dead one, or as the next."""
        member = Member(rank, self._supervisor, settings)
        if rank < len(self.members):
            self._release(self.members[rank])
            self.members[rank] = member
        else:
            assert rank == len(self.members)
            self.members.append(member)
        self._selector.register(member.control, selectors.EVENT_READ, member)
        self._selector.register(member.output, selectors.EVENT_READ, member)

    def busy(self) -> list[Member]:
        """Return the members whose call still runs."""
        return [member for member in self.members if member.is_busy]

    def has_children(self) -> bool:
        """Whether a rank has started a process that still runs."""
        try:
            below = {process.pid for process in self._process.children(recursive=True)}
        except psutil.NoSuchProcess:
            return False
        return bool(below - {member.pid for member in self.members})

    def signal(self, members: list[Member], number: int) -> None:
        """Send a signal to the members' processes."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # then all are ended
            for member in members:
                wire.send(self._supervisor, ("signal", member.rank, int(number)))

    def kill(self, members: list[Member]) -> None:
        """Kill the members' processes and wait until they are gone."""
        self.signal(members, signal.SIGKILL)
        until_s = time.monotonic() + END_TIMEOUT_S
        self.wait_until(lambda: all(member.ended is not None for member in members), until_s)

    def drop(self, members: list[Member]) -> None:
        """Kill the last members and forget them."""
        self.kill(members)
        for member in members:
            self._release(member)
            self.members.remove(member)

    def end(self) -> None:
        """End every rank and whatever it started; return when the supervisor is gone too."""
        self._selector.close()
        with contextlib.suppress(OSError):
            self._supervisor.shutdown(socket.SHUT_WR)
        if not self._hears_end():  # it is stopped, or a rank of it cannot be killed
            with contextlib.suppress(psutil.NoSuchProcess):
                self._process.kill()  # the warm process ends what was below it
            self._hears_end()
        self._supervisor.close()
        for member in self.members:
            member.close()

    def refresh(self) -> None:
        """Take in what has come since the last call."""
        for key, _ in self._selector.select(0):
            self._read(key.fd, key.data)

    def _hears_end(self) -> bool:
        """Wait until the supervisor has closed its socket, which it does last."""
        self._supervisor.settimeout(END_TIMEOUT_S)
        try:
            while self._supervisor.recv(1 << 16):
                pass
        except TimeoutError:
            return False
        except ConnectionResetError:
            pass
        return True

    def wait_until(self, is_done: Callable[[], bool], until_s: float) -> bool:
        """Take in what comes until `is_done`, or until monotonic `until_s`; return `is_done()`."""
        while not is_done():
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return False
            for key, _ in self._selector.select(left_s):
                self._read(key.fd, key.data)
        return True

    def _read(self, fd: int, member: Member | None) -> None:
        if member is None:
            self._read_supervisor()
        elif fd == member.output:
            data = read_available(fd)
            self.take_output(member.rank, data)
            if not data:
                self._selector.unregister(fd)
        elif not member.read_control():
            self._selector.unregister(fd)

    def _read_supervisor(self) -> None:
        try:
            data = self._supervisor.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            self.is_lost = True
            self._selector.unregister(self._supervisor)
            for member in self.members:
                member.ended = (
                    member.ended or "was lost, as the parent process of all ranks was killed,"
                )
        for kind, rank, detail in self._inbox.feed(data):
            if kind == "exit":
                self.members[rank].ended = detail
            else:
                self.members[rank].pid = detail

    def _release(self, member: Member) -> None:
        for fd in (member.control.fileno(), member.output):
            if fd in self._selector.get_map():
                self._selector.unregister(fd)
        member.close()
