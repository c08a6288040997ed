"""Asynchronous operations that nobody waits for are told in one line; others never are."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from torch import nn

import sandbox
from sandbox import source


def forget_the_handle() -> None:
    dist.all_reduce(torch.ones(4), async_op=True)


def forget_it_often() -> None:
    for _ in range(3):
        work = dist.all_gather([torch.empty(2)] * 3, torch.ones(2), async_op=True)
    work.wait()


def forget_an_isend() -> None:
    if dist.get_rank() == 0:
        dist.kept = dist.isend(torch.ones(1), 1)  # gloo gives up what is dropped before it is sent
    if dist.get_rank() == 1:
        dist.recv(torch.ones(1), 0)


def keep_it_and_never_wait() -> None:
    dist.kept = dist.broadcast(torch.ones(2), 0, async_op=True)  # a module lives on in its rank


@pytest.mark.parametrize(
    ("fn", "op", "line", "ranks"),
    [
        (forget_the_handle, "all_reduce", 1, "ranks 0-2"),
        (forget_it_often, "all_gather", 2, "ranks 0-2"),
        (forget_an_isend, "send", 2, "rank 0"),
        (keep_it_and_never_wait, "broadcast", 1, "ranks 0-2"),
    ],
)
def test_what_nobody_waited_for_is_told_once(fn: Callable, op, line, ranks, capsys) -> None:
    sandbox.launch(fn, world_size=3)
    site = source.describe(f"{__file__}:{fn.__code__.co_firstlineno + line}")
    assert capsys.readouterr().out == (
        f"Never waited for: {op} at {site} ({ranks}). Hint: keep the handle that such a call "
        "returns, and wait() before its tensors are used.\n"
    )


def wait_in_another_thread() -> None:
    work = dist.all_reduce(torch.ones(4), async_op=True)
    threading.Thread(target=work.wait).start()


def ask_until_it_is_complete() -> None:
    work = dist.all_reduce(torch.ones(4), async_op=True)
    while not work.is_completed():
        pass


def wait_for_its_future() -> None:
    dist.all_reduce(torch.ones(4), async_op=True).get_future().wait()


def send_and_recv_in_a_batch() -> None:
    left, right = (dist.get_rank() - 1) % 3, (dist.get_rank() + 1) % 3
    ops = [
        dist.P2POp(dist.isend, torch.ones(2), right),
        dist.P2POp(dist.irecv, torch.ones(2), left),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    if dist.get_rank() == 0:
        dist.send(torch.ones(1), 1)
    if dist.get_rank() == 1:
        dist.recv(torch.ones(1), 0)


def train_with_ddp_and_fsdp() -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    from torch.nn.parallel import DistributedDataParallel

    sharded = fully_shard(nn.Linear(4, 4))
    for model in (
        DistributedDataParallel(nn.Linear(4, 4)),
        sharded,
        FullyShardedDataParallel(nn.Linear(4, 4), device_id=torch.device("cpu")),
    ):
        model(torch.ones(2, 4)).sum().backward()


def use_the_functional_ones() -> None:
    from torch.distributed._functional_collectives import all_reduce

    all_reduce(torch.ones(3), "sum", dist.group.WORLD)


@pytest.mark.parametrize(
    "fn",
    [
        wait_in_another_thread,
        ask_until_it_is_complete,
        wait_for_its_future,
        send_and_recv_in_a_batch,
        train_with_ddp_and_fsdp,
        use_the_functional_ones,
    ],
)
def test_what_is_waited_for_or_a_librarys_own_is_not_told(fn: Callable, capsys) -> None:
    sandbox.launch(fn, world_size=3)
    assert "Never waited for" not in capsys.readouterr().out


def wait_for_what_was_kept() -> None:
    dist.kept.wait()


def drop_what_was_kept() -> None:
    dist.kept = None


def test_between_calls_a_handle_that_is_kept_may_still_be_waited_for(capsys) -> None:
    with sandbox.World(2) as world:
        world.run(keep_it_and_never_wait)
        world.run(wait_for_what_was_kept)
        assert capsys.readouterr().out == ""
        world.run(keep_it_and_never_wait)
        world.run(drop_what_was_kept)
        assert capsys.readouterr().out.startswith("Never waited for: broadcast at ")
        world.run(drop_what_was_kept)
        assert capsys.readouterr().out == ""
