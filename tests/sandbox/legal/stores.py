"""Stores and files: keys that come late, polling, and waits that are meant to give up."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from datetime import timedelta
from itertools import count

import torch.distributed as dist
from legal.program import legal

_numbers = count()


def make_store() -> dist.Store:
    """Return the default store, under names that no other program uses."""
    default = dist.distributed_c10d._get_default_store()
    return dist.PrefixStore(f"legal {next(_numbers)}", default)


@legal
def a_key_that_is_set_late(rank: int, world_size: int) -> None:
    store = make_store()
    if rank == 0:
        time.sleep(0.5)
        store.set("address", "here")
    assert store.get("address") == b"here"
    store.wait(["address"], timedelta(seconds=10))
    assert store.multi_get(["address", "address"]) == [b"here"] * 2


@legal
def keys_passed_around_a_ring(rank: int, world_size: int) -> None:
    store = make_store()
    if rank:
        assert store.get(str(rank - 1)) == b"done"
        time.sleep(0.15)
    store.set(str(rank), "done")
    store.wait([str(world_size - 1)])


@legal
def a_key_set_by_a_thread_of_a_waiting_rank(rank: int, world_size: int) -> None:
    store = make_store()

    def set_late() -> None:
        time.sleep(0.4)
        store.set("ready", "yes")

    if rank == 0:
        threading.Thread(target=set_late).start()
    store.wait(["ready"])


@legal
def a_key_set_by_a_child_process(rank: int, world_size: int) -> None:
    store = make_store()
    if rank == 0 and os.fork() == 0:
        time.sleep(0.5)
        store.set("ready", "yes")
        os._exit(0)
    store.wait(["ready"])


@legal
def a_wait_for_a_key_that_gives_up(rank: int, world_size: int) -> None:
    store = make_store()
    with contextlib.suppress(RuntimeError):
        store.wait(["never"], timedelta(milliseconds=100))
        raise AssertionError
    dist.barrier()


@legal
def polling_a_store(rank: int, world_size: int) -> None:
    store = make_store()
    store.add("arrived", 1)
    while store.add("arrived", 0) < world_size:
        time.sleep(0.01)


@legal
def a_tcp_store_of_the_learners(rank: int, world_size: int) -> None:
    port, store = [0], None
    if rank == 0:
        store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
        port = [store.port]
    dist.broadcast_object_list(port, src=0)
    store = store or dist.TCPStore("localhost", port[0], is_master=False)
    if rank == world_size - 1:
        time.sleep(0.3)
        store.set("ready", "yes")
    assert store.get("ready") == b"yes"
    dist.barrier()


@legal
def a_file_that_another_rank_writes(rank: int, world_size: int) -> None:
    path = [tempfile.mktemp() if rank == 0 else ""]
    dist.broadcast_object_list(path, src=0)
    if rank == 0:
        time.sleep(0.3)
        with open(path[0], "w"):
            pass
    while not os.path.exists(path[0]):
        time.sleep(0.01)
    dist.barrier()
    if rank == 0:
        os.remove(path[0])
