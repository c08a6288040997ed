"""Messages arrive whole and in order, in whatever pieces they travel, with their files."""

from __future__ import annotations

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.ranks import wire

messages = st.lists(
    st.tuples(st.text(), st.binary(max_size=300), st.integers(0, 2**40)), max_size=8
)


@given(messages, st.integers(1, 50))
def test_an_inbox_puts_pieces_of_any_size_together(sent: list[tuple], size: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for message in sent:
            wire.send(ours, message)
        ours.close()
        data = b"".join(iter(lambda: theirs.recv(1 << 16), b""))
    inbox = wire.Inbox()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [message for piece in pieces for message in inbox.feed(piece)] == sent


def test_files_arrive_with_their_message() -> None:
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    with ours, theirs:
        wire.send(ours, ("first",))
        wire.send(ours, ("second",), [write])
        os.close(write)
        assert wire.receive(theirs) == (("first",), [])
        message, (copy,) = wire.receive(theirs)
    os.write(copy, b"through the copy")
    os.close(copy)
    assert message == ("second",)
    assert os.read(read, 100) == b"through the copy"
    os.close(read)


@pytest.mark.parametrize("half", [0, 1, 4, 12])
def test_a_sender_that_is_gone_is_an_end_of_file(half: int) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall((wire.HEADER.pack(100) + b"half a message")[:half])
        with pytest.raises(EOFError):
            wire.receive(theirs)
