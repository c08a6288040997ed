"""Saves that go wrong: killed at a point, on a full disk, torn afterwards, with a slow rank."""

import contextlib
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch.distributed as dist

from grader import explain
from grader.cases import SMALL, Case
from grader.fsdp04.damage import ONCE, Damage, damaged_copies, files_of
from grader.fsdp04.exercise import Check, SaveCheckpoint
from grader.fsdp04.kill_points import KillPoint
from grader.fsdp04.recovery import Scenario
from grader.fsdp04.state import Truth, fill, new_state, truth_of
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.errors import DeadlockError, RankDiedError, RankError
from sandbox.failure import count_ranks
from sandbox.faults import Change, ChangeKind, DiskFull, FileChange, Pause, record_file_changes

CASE = Case(world_size=2, model=SMALL, data_seed=5)
FIRST_STEP, NEXT_STEP = 1, 2  # what is saved before anything goes wrong, and when it does
PAUSE_S = 1.0
MAX_TORN = 6
OF_CONTENTS = (ChangeKind.WRITE, ChangeKind.CLOSE, ChangeKind.FSYNC, ChangeKind.TRUNCATE)
# What a launch raises when a rank was killed: mostly its death, sometimes what another met first.
CRASHES = (RankDiedError, RankError, DeadlockError)


@dataclass(frozen=True)
class Saving:
    """A save_checkpoint under test, on `world_size` ranks, in folders below `path`."""

    check: Check
    save_checkpoint: SaveCheckpoint
    path: Path
    world_size: int
    truths: list[Truth]

    @property
    def base(self) -> Path:
        """Return the folder that holds one checkpoint, of FIRST_STEP."""
        return self.path / "base"

    def save(self, root: Path, step: int, faults: Sequence[Any] = ()) -> list[list[Change]]:
        """Save the state after `step` steps on ranks; return the changes of files that each made.

        With faults, it counts nothing.
        """
        saved = (observe_save, self.save_checkpoint, str(root), self.truths[step], step)
        case = f"saving on {count_ranks(self.world_size)}"
        options: dict[str, Any] = {"world_size": self.world_size, "case": case}
        if faults:
            return self.check.launch(*saved, False, faults=faults, **options).results
        with naming_races(self.check, self.path):
            return self.check.launch(*saved, True, **options).results

    def copy_base(self, name: str) -> Path:
        """Return a copy of the folder with one checkpoint."""
        root = self.path / name
        if not self.base.exists():  # before that, nothing was killed
            came = "save_checkpoint removes the folder in which it is to save"
            self.check.judge(Failure(mistake=Mistake.NOT_COMMITTED, came=came))
        shutil.copytree(self.base, root)
        return root

    def prepare(self) -> tuple[Path, list[list[Change]]]:
        """Make the base, and save once more without any trouble; return that folder and changes."""
        self.base.mkdir()
        self.save(self.base, FIRST_STEP)
        root = self.copy_base("saved")
        return root, self.save(root, NEXT_STEP)

    def kill(self, point: KillPoint, number: int) -> Scenario:
        """Kill a rank in a save, with one checkpoint there already."""
        root = self.copy_base(f"killed-{number:03}")
        with contextlib.suppress(*CRASHES):
            self.save(root, NEXT_STEP, [point.fault])
        return Scenario(str(root), point.text, (FIRST_STEP, NEXT_STEP))

    def kill_first(self, point: KillPoint, number: int) -> Scenario:
        """Kill a rank in the very first save."""
        root = self.path / f"killed-first-{number:03}"
        root.mkdir()
        with contextlib.suppress(*CRASHES):
            self.save(root, FIRST_STEP, [point.fault])
        return Scenario(str(root), f"in the first save {point.text}", (0, FIRST_STEP))

    def fill_disk(self, after_bytes: int) -> Scenario | Failure:
        """Save on a disk that is full after so many bytes of each rank: that must be told."""
        root = self.copy_base(f"full-{after_bytes}")
        try:
            self.save(root, NEXT_STEP, [DiskFull(root, after_bytes)])
        except RankError:
            return Scenario(str(root), "the disk was full", (FIRST_STEP,))
        return Failure(
            mistake=Mistake.SAVE_ERROR_SWALLOWED,
            expected="save_checkpoint raises, on a disk that is full",
            came="it returned",
        )

    def slow_down(self, changes: Sequence[Sequence[Change]]) -> Scenario | Failure:
        """Save with rank 0 slow at its first change of files, the others before their last name."""
        root = self.copy_base("slow")
        at = [1, *map(_find_last_name, changes[1:])]
        faults = [Pause(r, FileChange(n), PAUSE_S) for r, n in enumerate(at) if changes[r]]
        what = "a rank was slow in its save"
        try:
            self.save(root, NEXT_STEP, faults)
        except RankError as error:
            came = f"{error.exc_type}: {error.exc_message}".replace(str(root), "root")
            expected = "a save is none the worse for a slow rank"
            return Failure(
                mistake=Mistake.TEMP_DIR_RACE, expected=expected, came=came[:200], where=what
            )
        return Scenario(str(root), what, (NEXT_STEP,))


def _find_last_name(changes: Sequence[Change]) -> int:
    """Return the number of the last change by which a name comes, goes or is another."""
    return max(
        (n for n, change in enumerate(changes, start=1) if change.kind not in OF_CONTENTS),
        default=len(changes),
    )


@contextlib.contextmanager
def naming_races(check: Check, path: Path) -> Iterator[None]:
    """Say of a rank that misses a file what it is: rank 0 has moved it, without waiting."""
    try:
        yield
    except RankError as error:
        if error.exc_type == "FileNotFoundError" and error.rank:
            failure = explain.failure_of(error)
            came = failure.came.replace(str(path), "root")  # another name each time
            check.judge(replace(failure, mistake=Mistake.TEMP_DIR_RACE, came=came))
        raise


def tear(saved: Path, base: Path, into: Path) -> Iterator[Scenario]:
    """Damage each file of the newest checkpoint in turn, or some of many, in copies of it all."""
    before = {path.relative_to(base) for path in files_of(base)}
    new = [str(name) for path in files_of(saved) if (name := path.relative_to(saved)) not in before]
    some = new if len(new) <= MAX_TORN else random.Random(1).sample(new, MAX_TORN)
    continued: set[Damage] = set()
    for torn in damaged_copies(saved, into, some, ONCE):
        text = f"after the save, {Path(torn.file).name} {torn.damage.value}"
        is_first = torn.damage not in continued
        continued.add(torn.damage)
        yield Scenario(torn.directory, text, (FIRST_STEP, NEXT_STEP), is_continued=is_first)


def observe_save(
    save_checkpoint: SaveCheckpoint, root: str, truth: Truth, step: int, counts: bool
) -> list[Change]:
    """Save the state after `step` steps; return the changes of files that this rank made."""
    if not counts:
        _save(save_checkpoint, root, truth, step)
        return []
    with record_file_changes() as changes:
        _save(save_checkpoint, root, truth, step)
    return changes


def _save(save_checkpoint: SaveCheckpoint, root: str, truth: Truth, step: int) -> None:
    tempfile.tempdir = os.path.dirname(root)  # what a killed rank leaves goes with the check's own
    state = new_state(CASE)
    fill(state, truth, step)
    save_checkpoint(root, state)
    dist.barrier()


def truths() -> list[Truth]:
    """Return the uninterrupted run, as far as a recovery goes."""
    return truth_of(CASE, NEXT_STEP + 1)
