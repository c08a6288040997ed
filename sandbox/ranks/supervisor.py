"""The parent of one world's ranks: forks them, says how each ended, leaves nothing behind."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import traceback
from typing import NoReturn

from sandbox.ranks import process, wire


def supervise(sock: socket.socket) -> NoReturn:
    """Serve one world until its owner closes `sock`, then end every process below and exit.

    Runs in a fresh fork of the warm process. Messages: ("fork", rank, settings) with the rank's
    descriptors, ("signal", rank, number). Answers: ("supervisor", None, pid) at the start,
    ("forked", rank, pid), ("exit", rank, how).
    """
    process.adopt_orphans()
    supervisor = Supervisor(sock)
    process.end_with_parent(os.getppid(), signal.SIGTERM)
    try:
        supervisor.serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        supervisor.end(0)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    supervisor.end(1)


class Supervisor:
    """The ranks of one world, by process id."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.ranks: dict[int, int] = {}
        self.signals, wakeup = socket.socketpair()  # one byte per signal: its number
        wakeup.setblocking(False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(wakeup.detach(), warn_on_full_buffer=False)

    def serve(self) -> None:
        """Obey and report until the owner closes the socket, or our parent ends (EOFError)."""
        wire.send(self.sock, ("supervisor", None, os.getpid()))
        while True:
            readable, _, _ = select.select([self.sock, self.signals], [], [])
            if self.signals in readable:
                if signal.SIGTERM in self.signals.recv(4096):
                    raise EOFError
                self._report_exits()
            if self.sock in readable:
                self._obey(*wire.receive(self.sock))

    def end(self, status: int) -> NoReturn:
        """Kill every process below and exit."""
        for pid in self.ranks:  # not reaped yet, so the numbers are still theirs
            os.kill(pid, signal.SIGKILL)
        for pid in self.ranks:
            os.waitpid(pid, 0)
        process.end_descendants()
        self.sock.close()  # the owner need not wait for our own memory to be unmapped
        os._exit(status)

    def _obey(self, message: tuple, files: list[int]) -> None:
        kind, rank, detail = message
        if kind == "fork":
            self._fork(rank, detail, files)
            return
        assert kind == "signal", kind
        for pid, other in self.ranks.items():
            if other == rank:
                os.kill(pid, detail)

    def _fork(self, rank: int, settings: dict, files: list[int]) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            from sandbox.ranks.rank import main  # the warm process has imported it, torch and all

            os.close(signal.set_wakeup_fd(-1))
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            process.end_with_parent(parent)
            self.signals.close()
            self.sock.close()
            main(rank, settings, files)
        for fd in files:
            os.close(fd)
        self.ranks[pid] = rank
        wire.send(self.sock, ("forked", rank, pid))

    def _report_exits(self) -> None:
        """Reap what has ended: ranks are reported; orphans that came to us are not."""
        while self.ranks:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid in self.ranks:
                wire.send(self.sock, ("exit", self.ranks.pop(pid), process.describe_exit(status)))
