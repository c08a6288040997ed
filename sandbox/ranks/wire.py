"""Messages between the notebook, the warm process and the ranks: tuples, with files attached."""

from __future__ import annotations

import marshal
import socket
import struct
from collections.abc import Iterator

HEADER = struct.Struct("!Q")
MAX_FILES = 16  # far below SCM_MAX_FD (253); one rank needs three


def send(sock: socket.socket, message: tuple, files: list[int] | None = None) -> None:
    """Send one message of marshal-able values; `files` are duplicated into the receiver."""
    body = marshal.dumps(message)
    frame = HEADER.pack(len(body)) + body
    if files:
        # The descriptors ride on the first byte, so that they arrive with the start of the frame.
        socket.send_fds(sock, [frame[:1]], files)
        frame = frame[1:]
    sock.sendall(frame)


def receive(sock: socket.socket) -> tuple[tuple, list[int]]:
    """Wait for one message and the files attached to it; EOFError when the other side is gone."""
    try:
        first, files, _, _ = socket.recv_fds(sock, 1, MAX_FILES)
        header = first + _receive_exactly(sock, HEADER.size - 1) if first else b""
    except ConnectionError as error:
        raise EOFError from error
    if not header:
        raise EOFError
    return marshal.loads(_receive_exactly(sock, HEADER.unpack(header)[0])), files


def _receive_exactly(sock: socket.socket, size: int) -> bytes:
    body = bytearray(size)
    view = memoryview(body)
    while view:
        count = sock.recv_into(view)
        if count == 0:
            raise EOFError
        view = view[count:]
    return bytes(body)


class Inbox:
    """Collects what a non-blocking descriptor delivers and yields the whole messages in it."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple]:
        """Yield each message that `data` completes."""
        self._bytes += data
        start = 0
        while len(self._bytes) - start >= HEADER.size:
            end = start + HEADER.size + HEADER.unpack_from(self._bytes, start)[0]
            if len(self._bytes) < end:
                break
            yield marshal.loads(memoryview(self._bytes)[start + HEADER.size : end])
            start = end
        del self._bytes[:start]
