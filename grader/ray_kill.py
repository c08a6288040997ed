"""Kill one worker of a real Ray at a step, and tell which steps every worker took.

The worker writes down that it is there, and waits; the process that owns the Ray kills it.
"""

import functools
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
import torch.distributed as dist
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

TICK_S = 0.1
VICTIM = "victim"  # holds the pid of the worker that is to be killed


@dataclass(frozen=True)
class WorkerSteps:
    """One worker of one attempt: how many steps it took, and whether it was the one killed."""

    rank: int
    world_size: int
    started_s: float
    num_steps: int
    was_killed: bool


def record_steps(loop: Callable[..., None], folder: Path, kill_at: int) -> Callable[..., None]:
    """Return the loop, with every worker's steps recorded in a file of its own in `folder`.

    When the last rank has taken `kill_at` steps, it waits to be killed: once, in the first attempt.
    """

    @functools.wraps(loop)  # Ray looks whether it takes a config
    def recorded(*args: Any) -> None:
        _Recorder(folder, kill_at).start()
        loop(*args)

    return recorded


class _Recorder:
    """Counts the optimizer steps that follow a forward: torch takes others to make empty states."""

    def __init__(self, folder: Path, kill_at: int) -> None:
        self._rank, self._world_size = dist.get_rank(), dist.get_world_size()
        self._folder, self._kill_at = folder, kill_at
        self._file = folder / f"{os.getpid()}.jsonl"
        self._num_steps = 0
        self._has_trained = False

    def start(self) -> None:
        self._write(0)
        register_module_forward_hook(self._after_forward)
        register_optimizer_step_post_hook(self._after_step)

    def _after_forward(self, *_: Any) -> None:
        self._has_trained |= torch.is_grad_enabled()

    def _after_step(self, *_: Any) -> None:
        if not self._has_trained:
            return
        self._has_trained = False
        self._num_steps += 1
        self._write(self._num_steps)
        is_last_rank = self._rank == self._world_size - 1
        if is_last_rank and self._num_steps == self._kill_at and not _victim_of(self._folder):
            written = self._folder / f"{VICTIM}.partial"
            written.write_text(str(os.getpid()))
            written.rename(self._folder / VICTIM)
            signal.pause()

    def _write(self, num_steps: int) -> None:
        line = [self._rank, self._world_size, time.time(), num_steps]
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")


def start_killer(folder: Path) -> None:
    """Kill, from this process, the worker that waits for it."""
    threading.Thread(target=_kill, args=(folder,), daemon=True).start()


def _kill(folder: Path) -> None:
    while not (victim := _victim_of(folder)):
        time.sleep(TICK_S)
    own = {process.pid for process in psutil.Process().children(recursive=True)}
    if victim in own:
        os.kill(victim, signal.SIGKILL)


def _victim_of(folder: Path) -> int:
    """Return the pid of the worker to kill, 0 if there is none yet."""
    path = folder / VICTIM
    return int(path.read_text()) if path.exists() else 0


def read_steps(folder: Path) -> list[WorkerSteps]:
    """Return what every worker did, in the order in which they started."""
    victim = _victim_of(folder)
    workers = []
    for path in folder.glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        rank, world_size, started_s, _ = lines[0]
        was_killed = path.stem == str(victim)
        workers.append(WorkerSteps(rank, world_size, started_s, lines[-1][-1], was_killed))
    return sorted(workers, key=lambda worker: worker.started_s)
