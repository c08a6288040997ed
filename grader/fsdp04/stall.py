"""Measure how long training stands still for a save: saved at once, and written meanwhile."""

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch.distributed as dist

import sandbox
from grader import explain
from grader.cases import new_mesh
from grader.fsdp04.exercise import NewState, SaveAsync, SaveCheckpoint
from grader.fsdp04.stall_picture import Row, Span, StallPicture
from grader.fsdp04.state import take_step
from sandbox import backend, toys

WORLD_SIZE = 2
NUM_STEPS, SAVE_EVERY = 9, 3
CONFIG: dict[str, Any] = {  # large enough that a save takes longer than a step
    "model": {"dim": 96, "num_heads": 4, "hidden_dim": 256, "num_blocks": 4},
    "lr": 1e-3,
    "warmup_steps": 1,
}


@explain.telling_stubs("compare_stalls")
def compare_stalls(
    new_state: NewState, save_checkpoint: SaveCheckpoint, save_async: SaveAsync
) -> StallPicture:
    """Return a picture of 9 steps on 2 ranks, with a save after each third: both ways to save."""
    rows = []
    for save in (save_checkpoint, save_async):
        is_async = save is save_async
        with tempfile.TemporaryDirectory(prefix="shardlab-") as root:
            run = sandbox.launch(observe, new_state, save, is_async, root, world_size=WORLD_SIZE)
        rows.append(Row("save_async" if is_async else "save_checkpoint", *run.results[0]))
    return StallPicture(rows)


def observe(
    new_state: NewState, save: Callable[..., Any], is_async: bool, root: str
) -> tuple[list[Span], list[Span], list[Span]]:
    """Return when steps were taken, when training stood still, and when files were written."""
    group = dist.new_group(backend="gloo")
    state = new_state(CONFIG, new_mesh())
    _step(state)  # it makes the moments, and takes longer than the others
    clock, saving = _Clock(), None
    for number in range(1, NUM_STEPS + 1):
        with clock.span(clock.steps):
            _step(state)
        if number % SAVE_EVERY == 0 and is_async:
            with clock.span(clock.stalls):
                saving = save(root, state, group, saving)
            clock.follow(saving)
        elif number % SAVE_EVERY == 0:
            with clock.span(clock.stalls):
                save(root, state)
    clock.join()
    return clock.steps, clock.stalls, clock.writings


def _step(state: Any) -> None:
    take_step(state, toys.token_samples([dist.get_rank()]).to(sandbox.device()))
    backend.finish_work()  # else it would stand still in the save, which waits for it


class _Clock:
    """Notes spans of time, in seconds since it was made."""

    def __init__(self) -> None:
        dist.barrier()
        self._start_s = time.monotonic()
        self._followers: list[threading.Thread] = []
        self.steps: list[Span] = []
        self.stalls: list[Span] = []
        self.writings: list[Span] = []

    @contextlib.contextmanager
    def span(self, spans: list[Span]) -> Iterator[None]:
        """Note when the body began and ended."""
        start_s = self._now_s()
        yield
        spans.append((start_s, self._now_s()))

    def follow(self, saving: Any) -> None:
        """Note, in a thread, when this save is done."""

        def wait() -> None:
            with self.span(self.writings):
                saving.result()

        self._followers.append(threading.Thread(target=wait))
        self._followers[-1].start()

    def join(self) -> None:
        """Wait until all that is followed is done."""
        for follower in self._followers:
            follower.join()

    def _now_s(self) -> float:
        return time.monotonic() - self._start_s
