"""Start ranks: fresh ones beside torchrun, a live world beside ipyparallel, and many at once."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from functools import partial

import psutil

import sandbox
from benchmarks import programs
from benchmarks.report import Result, median_s

TORCHRUN_PROGRAM = """
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    total = torch.tensor(float(dist.get_rank()))
    dist.all_reduce(total)
    assert total.item() == 6.0
    dist.destroy_process_group()
"""


def fresh_ranks(tmp: str) -> Iterator[Result]:
    """4 fresh ranks, one all_reduce, results back; torchrun for the same."""
    script = f"{tmp}/add_up.py"
    with open(script, "w") as file:
        file.write(textwrap.dedent(TORCHRUN_PROGRAM))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"]
    ours = median_s(lambda: sandbox.launch(programs.add_up), 21)
    peers = median_s(
        lambda: subprocess.run([*torchrun, script], check=True, capture_output=True), 3
    )
    what = "4 fresh ranks, one all_reduce"
    yield Result(what, ours, 0.15, "torchrun", peers, goal_ratio=30)


def live_world(tmp: str) -> Iterator[Result]:
    """A call on 4 live ranks; ipyparallel's engines for the same."""
    import ipyparallel

    with sandbox.World(4) as world:
        world.run(programs.add_up)
        ours = median_s(lambda: world.run(programs.add_up), 101)
    start_s = time.perf_counter()
    with ipyparallel.Cluster(n=4, profile_dir=f"{tmp}/ipyparallel", log_level=40) as engines:
        view = engines[:]
        view.apply_sync(init_gloo_engine, f"file://{tmp}/store", list(engines.ids))
        peers_start = time.perf_counter() - start_s
        peers = median_s(lambda: view.apply_sync(programs.add_up), 101)
    yield Result("a call on a live World(4)", ours, 0.005, "ipyparallel", peers)
    start = median_s(start_and_end_world, 9)
    yield Result("start 4 live ranks", start, None, "ipyparallel", peers_start)


def start_and_end_world() -> None:
    """A World with its first call."""
    with sandbox.World(4) as world:
        world.run(programs.add_up)


def init_gloo_engine(store: str, ids: list[int]) -> None:
    """Form a group of the engines."""
    import os

    import torch.distributed as dist

    rank = int(os.environ["IPP_ENGINE_ID"]) if "IPP_ENGINE_ID" in os.environ else None
    if rank is None:
        from ipyparallel.engine.app import IPEngine

        rank = IPEngine.instance().id
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=len(ids))


def many_ranks(tmp: str) -> Iterator[Result]:
    """32 and 64 ranks at once, and their memory."""
    for world_size, goal in ((32, 1.5), (64, 3.5)):
        ours = median_s(partial(sandbox.launch, programs.add_up, world_size=world_size), 3)
        yield Result(f"{world_size} ranks, one all_reduce", ours, goal)
    with sandbox.World(64) as world:
        world.run(programs.add_up)
        tree = psutil.Process().children(recursive=True)
        total = sum(process.memory_full_info().pss for process in tree) / 2**30
    yield Result("memory of 64 ranks and the warm process (PSS)", total, 1.5, unit="GiB")


def import_time(tmp: str) -> Iterator[Result]:
    """`import sandbox`, beside `import torch`."""
    nothing = median_s(partial(subprocess.run, [sys.executable, "-c", ""], check=True), 9)
    ours, peers = (
        median_s(partial(subprocess.run, [sys.executable, "-c", f"import {name}"], check=True), 9)
        for name in ("sandbox", "torch")
    )
    ours = max(ours - nothing, 1e-4)
    yield Result("import sandbox", ours, 0.05, "import torch", peers - nothing)
