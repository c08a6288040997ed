"""World: Stop ends what hangs, in a call or between, and the ranks live on."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
import torch.distributed as dist
from world_programs import count_calls, sum_ranks

import sandbox
from sandbox.errors import RanksInterrupted


def stop_the_owner_when_all_run(owner: int) -> None:
    dist.barrier()
    if dist.get_rank() == 0:
        time.sleep(0.3)  # rank 1 has waited long enough to be known to
        os.kill(owner, signal.SIGINT)
    if dist.get_rank() == 1:
        sum_ranks()  # the others never join
    time.sleep(60)


def test_stop_ends_a_hung_call_within_a_second_and_variables_survive() -> None:
    with sandbox.World(3) as world:
        world.run(count_calls)
        start_s = time.monotonic()
        waiting = "rank 1: waiting for ranks 0, 2 in collective #2, all_reduce"
        with pytest.raises(RanksInterrupted, match=waiting):
            world.run(stop_the_owner_when_all_run, os.getpid())
        assert time.monotonic() - start_s < 5  # a hang would take the 30 s of the timeout
        assert world.run(count_calls).results == [2, 2, 2]
        assert world.run(sum_ranks).results == [3.0] * 3


def test_a_rank_that_ignores_stop_is_killed_and_named() -> None:
    def swallow(owner: int) -> None:
        dist.barrier()
        stops = num_stops
        while dist.get_rank() == 1:
            try:
                stops -= 1
                if stops >= 0:
                    os.kill(owner, signal.SIGINT)
                time.sleep(60)
            except KeyboardInterrupt:
                continue

    num_stops = 1
    with sandbox.World(2) as world:
        world.run(count_calls)
        with pytest.raises(RanksInterrupted, match="killed: rank 1"):
            world.run(swallow, os.getpid())
        assert world.run(count_calls).results == [2, 1]
        num_stops = 2
        with pytest.raises(RanksInterrupted, match="Stopped twice: all ranks were ended"):
            world.run(swallow, os.getpid())
        assert world.run(count_calls).results == [1, 1]


def test_stop_in_a_launch_ends_all_ranks() -> None:
    with pytest.raises(RanksInterrupted):
        sandbox.launch(stop_the_owner_when_all_run, os.getpid(), world_size=2)


def test_interrupt_from_another_thread_raises_in_the_ranks() -> None:
    started = threading.Event()

    class Watched(sandbox.World):
        def _take_output(self, rank: int, data: bytes) -> None:
            super()._take_output(rank, data)
            started.set()

    def wait() -> None:
        dist.barrier()  # both have begun
        print("running")
        time.sleep(60)

    with Watched(2) as world:
        world.run(count_calls)
        thread = threading.Thread(target=lambda: started.wait(30) and world.interrupt())
        thread.start()
        with pytest.raises(sandbox.RankError, match="ranks 0, 1 raised KeyboardInterrupt"):
            world.run(wait)
        thread.join()
        assert world.run(count_calls).results == [2, 2]
