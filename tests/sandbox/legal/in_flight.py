"""Collectives in flight: waited for late, never, in another order, or in threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import torch
import torch.distributed as dist
from legal.program import legal


@legal
def waits_in_another_order(rank: int, world_size: int) -> None:
    xs = [torch.full((3,), float(i)) for i in range(4)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    for work in works if rank % 2 else reversed(works):
        work.wait()
        work.wait()
    assert [x[0].item() for x in xs] == [i * world_size for i in range(4)]


@legal
def collectives_never_waited_for(rank: int, world_size: int) -> None:
    dist.all_reduce(torch.ones(3), async_op=True)
    dist.all_gather_single(torch.empty(world_size), torch.ones(1), async_op=True)


@legal
def two_groups_in_flight_crosswise(rank: int, world_size: int) -> None:
    a, b = dist.new_group(), dist.new_group()
    works = [
        dist.all_reduce(torch.ones(1), group=g, async_op=True) for g in ((a, b), (b, a))[rank % 2]
    ]
    for work in works:
        work.wait()


@legal
def a_thread_with_its_own_group(rank: int, world_size: int) -> None:
    group = dist.new_group()

    def talk() -> None:
        for _ in range(10):
            dist.all_reduce(torch.ones(1), group=group)

    thread = threading.Thread(target=talk)
    thread.start()
    for _ in range(10):
        dist.all_reduce(torch.ones(1))
    thread.join()


@legal
def a_thread_that_outlives_the_function(rank: int, world_size: int) -> None:
    group = dist.new_group()
    started = threading.Event()

    def talk() -> None:
        started.wait()
        dist.all_reduce(torch.ones(1), group=group)

    threading.Thread(target=talk).start()
    if rank == 0:
        sum(range(300_000))
    started.set()


@legal
def a_wait_that_is_meant_to_time_out(rank: int, world_size: int) -> None:
    if world_size == 1:
        return
    if rank == 0:
        work = dist.all_reduce(torch.ones(1), async_op=True)
        with contextlib.suppress(RuntimeError):
            work.wait(timedelta(milliseconds=60))
            raise AssertionError
        dist.send(torch.ones(1), 1)
        work.wait()
    else:
        if rank == 1:
            dist.recv(torch.empty(1), 0)
        dist.all_reduce(torch.ones(1))


@legal
def futures_and_what_follows_them(rank: int, world_size: int) -> None:
    future = dist.all_reduce(torch.ones(2), async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2)
    assert doubled.wait().tolist() == [2 * world_size] * 2


@legal
def a_callback_that_issues_another(rank: int, world_size: int) -> None:
    """The main thread waits for a collective that rank 0 issues only in a callback."""
    second = dist.new_group()
    x, y = torch.ones(2), torch.ones(2)
    first = dist.all_reduce(x, async_op=True)
    if rank == 0:
        then = first.get_future().then(lambda _: dist.all_reduce(y, group=second, async_op=True))
        then.wait().wait()
    else:
        dist.all_reduce(y, group=second)
        first.wait()
    assert y.tolist() == [world_size] * 2


@legal
def a_pool_whose_workers_have_a_group_each(rank: int, world_size: int) -> None:
    groups = [dist.new_group() for _ in range(3)]

    def add(group: dist.ProcessGroup) -> float:
        x = torch.full((1,), float(rank))
        dist.all_reduce(x, group=group)
        return x.item()

    with ThreadPoolExecutor(3) as pool:
        expected = world_size * (world_size - 1) / 2
        assert list(pool.map(add, groups)) == [expected] * 3


@legal
def polling_until_complete(rank: int, world_size: int) -> None:
    x = torch.ones(3)
    work = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        pass
    work.wait()
    assert x.tolist() == [world_size] * 3


@legal
def a_generator_between_collectives(rank: int, world_size: int) -> None:
    def totals() -> Iterator[float]:
        for step in range(4):
            x = torch.full((1,), float(step))
            dist.all_reduce(x)
            yield x.item()

    for step, total in enumerate(totals()):
        dist.barrier()
        assert total == step * world_size
