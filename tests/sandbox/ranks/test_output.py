"""What ranks print is shown once per line, whoever wrote it, and cannot flood the cell."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest
import torch.distributed as dist

import sandbox
from sandbox.ranks.output import Echo, Output


def test_identical_lines_are_merged_and_others_keep_their_rank(
    capfd: pytest.CaptureFixture,
) -> None:
    def speak() -> None:
        print("hello")
        print(f"I am {dist.get_rank()}")

    run = sandbox.launch(speak, world_size=3)
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()) == [
        "rank 0: I am 0",
        "rank 1: I am 1",
        "rank 2: I am 2",
        "ranks 0-2: hello",
    ]
    assert err == ""
    assert run.output == [f"hello\nI am {rank}\n" for rank in range(3)]


def test_every_way_to_write_is_captured_and_nothing_reaches_stderr(
    capfd: pytest.CaptureFixture,
) -> None:
    def write() -> None:
        os.write(1, b"descriptor\n")
        os.write(2, b"from C++\n")
        print("python", file=sys.stderr)
        subprocess.run(["echo", "child"], check=True)
        ctypes.CDLL(None).puts(b"C's stdout")  # as NCCL's log
        print("no newline", end="")

    run = sandbox.launch(write, world_size=1)
    assert run.output == ["descriptor\nfrom C++\npython\nchild\nC's stdout\nno newline\n"]
    assert capfd.readouterr().err == ""


def test_200_megabytes_are_cut_and_the_launch_ends(capfd: pytest.CaptureFixture) -> None:
    def flood() -> None:
        block = ("x" * 79 + "\n") * 12_500
        for _ in range(200):
            sys.stdout.write(block)

    run = sandbox.launch(flood, world_size=1)
    out, _ = capfd.readouterr()
    assert len(out) < 3_000_000
    assert out.splitlines()[-1].startswith("rank 0: … ")
    assert "199.0 MB more were printed" in run.output[0].splitlines()[-1]


def test_a_progress_bar_leaves_its_last_state() -> None:
    shown: list[str] = []
    output = Output(1, shown.append)
    output.feed(0, b"10%\r50%\r", 0.0)
    output.feed(0, b"100%\n", 0.1)
    output.flush(0.2, everything=True)
    assert shown == ["rank 0: 100%\n"]


def test_a_character_cut_in_two_is_put_together() -> None:
    shown: list[str] = []
    output = Output(1, shown.append)
    first, second = "é\n".encode()[:1], "é\n".encode()[1:]
    output.feed(0, first, 0.0)
    output.feed(0, second, 0.0)
    output.flush(0.2, everything=True)
    assert shown == ["rank 0: é\n"]


def test_a_line_waits_for_its_like_no_longer_than_the_window() -> None:
    shown: list[str] = []
    output = Output(2, shown.append)
    output.feed(0, b"step 1\n", 0.0)
    output.flush(0.05)
    assert shown == []
    output.flush(0.2)
    assert shown == ["rank 0: step 1\n"]


def test_the_same_line_twice_from_one_rank_stays_two_lines() -> None:
    shown: list[str] = []
    output = Output(2, shown.append)
    output.feed(0, b"a\na\n", 0.0)
    output.feed(1, b"a\na\n", 0.0)
    output.flush(0.0)
    assert "".join(shown) == "ranks 0, 1: a\nranks 0, 1: a\n"


@pytest.mark.parametrize("explained", [(), (Echo.NO_MESH,), (Echo.ABORT, Echo.NO_MESH)])
def test_what_an_error_explains_is_held_back_until_that_is_known(explained: tuple) -> None:
    lines = {
        Echo.NO_MESH: "[rank0]:[E1129 20:16:47.87 ProcessGroupGloo.cpp:148] Gloo connectFullMesh "
        "failed with [/gloo/transport/tcp/pair.cc:144] no error",
        Echo.ABORT: "  what():  [enforce fail at /third_party/gloo/gloo/transport/tcp/pair.cc:456]",
    }
    shown: list[str] = []
    output = Output(1, shown.append)
    for number, text in enumerate(["before", *lines.values()]):
        output.feed(0, f"{text}\n".encode(), float(number))
        output.flush(float(number))
    assert shown == ["rank 0: before\n"]
    output.explain(explained)
    output.flush(3.0, everything=True)
    left = [line for echo, line in lines.items() if echo not in explained]
    assert "".join(shown) == "".join(f"rank 0: {line}\n" for line in ["before", *left])
    assert output.texts() == ["".join(f"{line}\n" for line in ["before", *left])]
