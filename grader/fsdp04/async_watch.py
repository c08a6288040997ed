"""Watch asynchronous saves: what is complete, and what is done, while writing is held back."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.api import CheckpointException

import sandbox
from grader.cases import Case
from grader.fsdp04.background import Background
from grader.fsdp04.exercise import LatestComplete, LoadShards, SaveAsync
from grader.fsdp04.state import Snapshot, new_state, take_snapshot, take_steps

OTHER_SEED = 99
HELD_STEP = 2  # of the checkpoint that is held in the middle of its writing
NUM_STEPS_MEANWHILE = 2
TICK_S = 0.005
DEADLINE_S = 8.0  # for what happens at once on a machine with nothing else to do
COMMIT_S = 2.0
OVERLAP_S = 1.0  # a second save that does not wait begins within milliseconds


@dataclass(frozen=True)
class Seen:
    """What one rank saw; later facts keep their defaults where an earlier one ended it."""

    returned: str
    uses_training_group: bool = False
    has_waited: bool = False  # the call returned when all was written
    is_idle: bool = False  # nothing was written until somebody asked
    first: str | None = None  # the newest complete checkpoint after the first save
    meanwhile: str | None = None  # while the second is written
    is_done_early: bool = False
    second: str | None = None
    is_second_at_result: bool = False  # it is there, but only since result() was called
    loaded: Snapshot | None = None  # from the second
    has_overlapped: bool = False
    fourth: str | None = None
    failed_quietly: bool = False
    after_failure: str | None = None


def observe(
    save_async: SaveAsync,
    latest_complete: LatestComplete,
    load_shards: LoadShards,
    root: str,
    case: Case,
) -> Seen:
    """Save five times: freely, held, then two in a row, then on a full disk."""
    with Background() as background:
        watch = _Watch(save_async, latest_complete, load_shards, root, case, background)
        for phase in (
            watch.save_freely, watch.save_held, watch.save_twice, watch.save_on_a_full_disk
        ):  # fmt: skip
            if not _all_agree(phase()):
                break
        return watch.seen


class _Watch:
    """One rank's saves. Each phase returns whether the next one has a meaning."""

    def __init__(
        self,
        save_async: SaveAsync,
        latest_complete: LatestComplete,
        load_shards: LoadShards,
        root: str,
        case: Case,
        background: Background,
    ) -> None:
        self._save_async, self._latest, self._load = save_async, latest_complete, load_shards
        self._root, self._case = root, case
        self._background = background
        self._group = dist.new_group(backend="gloo")
        self._state = new_state(case)
        self._last: Any = None
        self.seen = Seen("")

    def save_freely(self) -> bool:
        """Save and wait; the answer's form is judged here."""
        take_steps(self._state, self._case, 1)
        self._last = self._save()
        is_future = hasattr(self._last, "result") and hasattr(self._last, "done")
        self._note(returned="future" if is_future else type(self._last).__name__)
        if not _all_agree(is_future):
            return False
        wait_until(self._last.done)
        self._note(uses_training_group=self._background.uses_training_group)
        if not _all_agree(not self._background.uses_training_group):
            return False
        self._last.result()
        self._wait_for_newer_than(None)
        self._note(first=self._newest())
        return self.seen.first is not None

    def save_held(self) -> bool:
        """Save while the writing is held, train on meanwhile, then let it go and load it."""
        take_steps(self._state, self._case, 1)
        self._background.hold()
        self._last = self._save()
        wait_until(lambda: self._background.is_held or self._is_written())
        is_held = self._background.is_held
        self._note(has_waited=self._is_written(), is_idle=not is_held and not self._is_written())
        if not _all_agree(is_held):
            return False
        take_steps(self._state, self._case, NUM_STEPS_MEANWHILE)
        self._note(meanwhile=self._newest(), is_done_early=self._last.done())
        if not _all_agree(not self.seen.is_done_early):
            return False
        self._background.release()
        wait_until(self._last.done)
        self._wait_for_newer_than(self.seen.first)
        second = self._newest()
        self._last.result()
        self._note(second=self._newest())
        self._note(is_second_at_result=self.seen.second != second)
        if not _all_agree(self.seen.second not in (None, self.seen.first)):
            return False
        other = new_state(self._case, seed=OTHER_SEED)
        self._load(self._latest(self._root), other)
        self._note(loaded=take_snapshot(other))
        return True

    def save_twice(self) -> bool:
        """Save while the save before is held."""
        self._background.hold()
        self._last = self._save()
        wait_until(lambda: self._background.is_held)
        take_steps(self._state, self._case, 1)
        self._last = self._save()
        if self._background.has_waited:  # so the one before is written
            self._wait_for_newer_than(self.seen.second)
        third = self._name_of_newest()
        begun_s = time.monotonic()
        wait_until(lambda: self._has_met() or time.monotonic() - begun_s > OVERLAP_S)
        has_overlapped = not _all_agree(not self._background.has_overlapped)
        self._note(has_overlapped=has_overlapped)
        if has_overlapped:
            wait_until(self._last.done)
            dist.barrier()
        self._background.release()
        if has_overlapped:
            return False
        self._last.result()
        self._wait_for_newer_than(third)
        self._note(fourth=self._newest())
        return True

    def save_on_a_full_disk(self) -> bool:
        """Save where writing fails: the error must come out, and nothing else change."""
        take_steps(self._state, self._case, 1)
        self._background.fill_disk()
        self._last = self._save()
        try:
            self._last.result()
            self._note(failed_quietly=True)
        except (Exception, CheckpointException):  # which is no Exception
            self._note(failed_quietly=False)
        self._note(after_failure=self._newest())
        return True

    def _save(self) -> Any:
        return self._background.call(
            self._save_async, self._root, self._state, self._group, self._last
        )

    def _is_written(self) -> bool:
        """Whether all was written before save_async returned."""
        is_done_here = self._background.main_has_written and self._last.done()
        return self._background.has_waited or is_done_here

    def _wait_for_newer_than(self, name: str | None) -> None:
        """Wait a moment: rank 0 may be at the last of it when a Future is done."""
        wait_until(lambda: self._name_of_newest() != name, COMMIT_S)

    def _name_of_newest(self) -> str | None:
        path = self._latest(self._root)
        return None if path is None else str(Path(path).relative_to(self._root))

    def _has_met(self) -> bool:
        return self._background.has_overlapped or self._background.has_waited

    def _newest(self) -> str | None:
        """Return the newest complete checkpoint, when every rank's save is done. All ranks."""
        dist.barrier()
        return self._name_of_newest()

    def _note(self, **facts: Any) -> None:
        self.seen = replace(self.seen, **facts)


def _all_agree(is_so: bool) -> bool:
    """Return whether it is so on every rank. Collective."""
    votes = torch.tensor([int(is_so)], device=sandbox.device())
    dist.all_reduce(votes, op=dist.ReduceOp.MIN)
    return bool(votes)


def wait_until(is_so: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    """Look again and again until it is so, or until the deadline."""
    end_s = time.monotonic() + deadline_s
    while not is_so() and time.monotonic() < end_s:
        time.sleep(TICK_S)
