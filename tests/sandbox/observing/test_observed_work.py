"""Waiting: Ctrl-C gets through, timeouts hold, and the ends of asynchronous work are recorded."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

import sandbox
from sandbox import Op


def spin_until_exists(path: str) -> None:
    while not os.path.exists(path):
        pass


def in_all_reduce() -> None:
    dist.all_reduce(torch.ones(3))


def in_reduce_scatter() -> None:
    dist.reduce_scatter_single(torch.empty(1), torch.ones(2))


def in_recv() -> None:
    dist.recv(torch.empty(3), 1 - dist.get_rank())


def in_monitored_barrier() -> None:
    dist.monitored_barrier()


def in_store_get() -> None:
    dist.distributed_c10d._get_default_store().get("a key that nobody sets")


def in_backward_of_ddp() -> None:
    MODELS[0](torch.ones(2, 4)).sum().backward()


MODELS: list[nn.Module] = []


def interrupt_rank_0(blocks: Callable[[], None], path: str) -> float:
    """Return how long rank 0, blocked for want of rank 1, takes to see its own SIGINT."""
    MODELS[:] = [nn.parallel.DistributedDataParallel(nn.Linear(4, 4))]
    if dist.get_rank() == 1:
        spin_until_exists(path)  # running, so that nothing is proven
        return 0.0
    sent_s: list[float] = []

    def send_when_blocked() -> None:
        while name_of_running_file(threading.main_thread()) not in BLOCKED_IN:
            pass
        sent_s.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send_when_blocked).start()
    with contextlib.suppress(KeyboardInterrupt):
        blocks()
    latency_s = time.monotonic() - sent_s[0]
    Path(path).touch()
    return latency_s


BLOCKED_IN = ("observed_work.py", "gloo_reduce_scatter.py", "elsewhere.py", "observed_store.py")


def name_of_running_file(thread: threading.Thread) -> str:
    return Path(sys._current_frames()[thread.ident or 0].f_code.co_filename).name


@pytest.mark.parametrize(
    "blocks",
    [
        in_all_reduce,
        in_reduce_scatter,
        in_recv,
        in_monitored_barrier,
        in_store_get,
        in_backward_of_ddp,
    ],
)
def test_a_blocked_rank_can_be_interrupted(blocks: Callable[[], None], tmp_path: Path) -> None:
    run = sandbox.launch(interrupt_rank_0, blocks, str(tmp_path / "done"), world_size=2)
    assert run.results[0] < 0.5  # 0.04 s, and time to be scheduled on a busy machine


def test_asynchronous_work_ends_when_it_is_complete_not_when_it_is_waited_for() -> None:
    def overlap() -> float:
        works = [dist.all_reduce(torch.ones(8), async_op=True) for _ in range(2)]
        while not all(work.is_completed() for work in works):
            pass
        dist.barrier()
        waited_s = time.monotonic()
        for work in works:
            assert work.is_success()
            work.wait()
        return waited_s

    run = sandbox.launch(overlap, world_size=2)
    barrier = run.ledger.where(op=Op.BARRIER, rank=0)[0]
    for event in run.ledger.where(op=Op.ALL_REDUCE, rank=0):
        assert event.is_async
        assert event.end_s is not None
        assert event.end_s < (barrier.end_s or 0)


def test_futures_work() -> None:
    def follow() -> list[float]:
        future = dist.all_reduce(torch.ones(2), async_op=True).get_future()
        return future.then(lambda done: done.value()[0] * 10).wait().tolist()

    assert sandbox.launch(follow, world_size=2).results == [[20, 20]] * 2


def test_a_hook_of_ddp_that_returns_a_future_of_its_own() -> None:
    def train() -> list[float]:
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

        torch.manual_seed(0)
        model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1, bias=False))
        model.register_comm_hook(None, fp16_compress_hook)
        model(torch.full((1, 4), float(dist.get_rank()))).sum().backward()
        return model.module.weight.grad.flatten().tolist()

    run = sandbox.launch(train, world_size=3)
    assert run.results == [pytest.approx([1.0] * 4, abs=1e-3)] * 3
    assert run.ledger.where(op=Op.ALL_REDUCE, rank=0)[-1].dtype == "float16"


def test_gradients_of_ddp_are_those_of_the_whole_batch() -> None:
    def train() -> list[float]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1)).double()
        wrapped = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1e-4)
        wrapped(batch(dist.get_rank())).mean().backward()
        return [p.grad.sum().item() for p in model.parameters()]

    torch.manual_seed(0)
    alone = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1)).double()
    alone(torch.cat([batch(rank) for rank in range(3)])).mean().backward()
    expected = [p.grad.sum().item() for p in alone.parameters()]
    for gradients in sandbox.launch(train, world_size=3).results:
        assert gradients == pytest.approx(expected, rel=1e-12)  # float64, another order of sums


def batch(rank: int) -> torch.Tensor:
    return torch.full((2, 4), 1.0 + rank, dtype=torch.float64)


def wait_for_the_slow_one(path: str) -> None:
    """Rank 1 joins only once rank 0 is seen to wait."""
    if dist.get_rank() == 1:
        spin_until_exists(path)
    work = dist.all_reduce(torch.ones(3), async_op=True)

    def touch_when_blocked() -> None:
        while name_of_running_file(threading.main_thread()) not in BLOCKED_IN:
            pass
        Path(path).touch()

    if dist.get_rank() == 0:
        threading.Thread(target=touch_when_blocked).start()
    work.wait()


def test_since_when_a_thread_waited_is_on_record(tmp_path) -> None:
    run = sandbox.launch(wait_for_the_slow_one, str(tmp_path / "go"), world_size=2)
    (late,) = run.ledger.where(rank=0)
    assert late.is_async
    assert late.start_s < late.waited_from_s < late.end_s


def test_a_synchronous_operation_is_waited_for_from_its_start() -> None:
    (event,) = sandbox.launch(in_all_reduce, world_size=2).ledger.where(rank=1)
    assert event.start_s <= event.waited_from_s <= event.end_s
