"""Children, pauses and signals: what lets a rank go on is not always a rank's collective."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time

import torch
import torch.distributed as dist
from legal.program import legal
from torch.utils.data import DataLoader


class GaveUpError(Exception):
    """Raised by a signal's handler."""


def give_up(number: int, frame: object) -> None:
    raise GaveUpError


def pids_of_all(world_size: int) -> list[int]:
    pids = torch.zeros(world_size, dtype=torch.int64)
    dist.all_gather_single(pids, torch.tensor([os.getpid()]))
    return pids.tolist()


@legal
def a_pause_by_a_sibling(rank: int, world_size: int) -> None:
    pids = pids_of_all(world_size)
    if rank == 1:
        os.kill(pids[0], signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(pids[0], signal.SIGCONT)
    dist.barrier()


@legal
def an_alarm_that_ends_a_wait(rank: int, world_size: int) -> None:
    if rank or world_size == 1:
        return  # nobody will ever send to rank 0
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 0.6)
    try:
        dist.recv(torch.empty(1), 1, tag=41)
        raise AssertionError
    except GaveUpError:
        pass
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


@legal
def an_alarm_that_rings_again_and_again(rank: int, world_size: int) -> None:
    rings = []
    signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    for _ in range(20):
        dist.all_reduce(torch.ones(1))
    while not rings:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    dist.barrier()


@legal
def a_signal_of_a_sibling_that_ends_a_wait(rank: int, world_size: int) -> None:
    if world_size < 3:
        return
    with_rank_1, with_rank_2 = dist.new_group([0, 1]), dist.new_group([0, 2])
    pids = pids_of_all(world_size)
    if rank == 0:
        signal.signal(signal.SIGUSR2, give_up)
        dist.barrier(group=with_rank_2)
        try:
            dist.all_reduce(torch.ones(1), group=with_rank_1)  # which rank 1 never joins
            raise AssertionError
        except GaveUpError:
            signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    elif rank == 2:
        dist.barrier(group=with_rank_2)
        time.sleep(0.7)
        os.kill(pids[0], signal.SIGUSR2)


@legal
def workers_of_a_data_loader(rank: int, world_size: int) -> None:
    loader = DataLoader(torch.arange(12.0), batch_size=3, num_workers=2)
    total = torch.zeros(1)
    for batch in loader:
        total += batch.sum()
        dist.all_reduce(batch)
    assert total.item() == 66


@legal
def a_child_that_computes(rank: int, world_size: int) -> None:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=lambda: theirs.send(sum(range(100_000)))
    )
    child.start()
    assert ours.recv() == 4_999_950_000
    child.join()
    dist.barrier()


@legal
def a_command_that_one_rank_runs(rank: int, world_size: int) -> None:
    if rank == 0:
        subprocess.run(["sleep", "0.4"], check=True)
    dist.barrier()
