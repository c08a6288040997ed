"""Step 6: the newest complete checkpoints stay, older ones go, the only good one never."""

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.fsdp04.crashes import CASE, truths
from grader.fsdp04.damage import Damage, damage, files_of
from grader.fsdp04.exercise import Check, LatestComplete, SaveCheckpoint
from grader.fsdp04.state import Truth, fill, new_state
from grader.mistakes import Mistake
from grader.verdict import Failure

KeepNewest = Callable[[str, int], None]


@dataclass(frozen=True)
class Retained:
    """A folder with checkpoints of `steps`, those of `torn` damaged; `num_kept` are to stay."""

    steps: tuple[int, ...]
    torn: tuple[int, ...]
    num_kept: int

    @property
    def kept(self) -> list[int]:
        """Return the steps of the complete checkpoints that must stay."""
        complete = [step for step in self.steps if step not in self.torn]
        return complete[-self.num_kept :]

    @property
    def text(self) -> str:
        """Return "steps 8, 9, 10, of which 10 are torn; num_kept 2"."""
        torn = f", torn are {_list(self.torn)}" if self.torn else ""
        return f"saved were steps {_list(self.steps)}{torn}; num_kept={self.num_kept}"


CASES = (
    Retained((8, 9, 10, 11), (), 2),
    Retained((1, 2, 3, 4), (3, 4), 2),
    Retained((3, 6, 9), (6, 9), 1),
    Retained((5, 100), (), 1),
    Retained((7,), (), 3),
)


def check_keep_newest(
    keep_newest: KeepNewest, save_checkpoint: SaveCheckpoint, latest_complete: LatestComplete
) -> None:
    """Judge `keep_newest(root, num_kept)`, with the checkpoints of step 5."""
    proof = "the newest complete ones stay, untouched; the others go; torn ones do not count"
    with (
        Check("keep_newest", proof, keep_newest) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        nowhere = str(Path(path, "none"))
        check.launch(observe_retention, keep_newest, [nowhere], [1], world_size=1)
        roots = [str(Path(path, f"{number}")) for number in range(len(CASES))]
        saved = (observe_saves, save_checkpoint, latest_complete, roots, truths()[1])
        places = check.launch(*saved, world_size=1).results[0]
        for case, paths in zip(CASES, places, strict=True):
            check.judge(judge_found(case, paths))
            for step in case.torn:
                largest = max(files_of(Path(paths[step])), key=lambda file: file.stat().st_size)
                damage(largest, Damage.CUT)
        before = [_digests(paths) for paths in places]
        num_kept = [case.num_kept for case in CASES]
        check.launch(observe_retention, keep_newest, roots, num_kept, world_size=1)
        for case, paths, digests in zip(CASES, places, before, strict=True):
            check.judge(judge_retention(case, digests, _digests(paths)))


# -- observe --------------------------------------------------------------------------------------


def observe_saves(
    save_checkpoint: SaveCheckpoint,
    latest_complete: LatestComplete,
    roots: Sequence[str],
    truth: Truth,
) -> list[dict[int, str]]:
    """Save the checkpoints of every case; return the path of each step's."""
    state = new_state(CASE)
    fill(state, truth, 1)
    places = []
    for root, case in zip(roots, CASES, strict=True):
        paths = {}
        for step in case.steps:
            state.step = step
            save_checkpoint(root, state)
            paths[step] = str(latest_complete(root))
        places.append(paths)
    return places


def observe_retention(
    keep_newest: KeepNewest, roots: Sequence[str], num_kept: Sequence[int]
) -> None:
    """Remove what need not be kept; a root may not be there."""
    for root, count in zip(roots, num_kept, strict=True):
        keep_newest(root, count)


def _digests(paths: dict[int, str]) -> dict[int, str]:
    """Return a digest of each step's directory, "" if it is gone."""
    digests = {}
    for step, path in paths.items():
        total = hashlib.sha256()
        for file in files_of(Path(path)):
            total.update(str(file.relative_to(path)).encode() + b"\0" + file.read_bytes())
        digests[step] = total.hexdigest() if Path(path).exists() else ""
    return digests


# -- judge ----------------------------------------------------------------------------------------


def judge_found(case: Retained, paths: dict[int, str]) -> Failure | None:
    """Judge that each save was found where it was put: a place of its own."""
    if len(set(paths.values())) == len(case.steps) and "None" not in paths.values():
        return None
    expected = "latest_complete finds each save at a path of its own"
    return Failure(mistake=Mistake.NOT_COMMITTED, expected=expected, came=f"{list(paths.values())}")


def judge_retention(
    case: Retained, before: dict[int, str], after: dict[int, str]
) -> Failure | None:
    """Judge what is left of the complete ones; torn ones may stay or go."""
    changed = [step for step in case.kept if after[step] != before[step]]
    if len(changed) == len(case.kept):
        came = "it is gone" if len(changed) == 1 else f"{_list(changed)} are gone"
        mistake = Mistake.ONLY_GOOD_REMOVED if case.torn else Mistake.NEWEST_REMOVED
        return _failure(case, mistake, came)
    if changed:
        return _failure(case, Mistake.NEWEST_REMOVED, f"{_list(changed)} is gone")
    complete = [step for step in case.steps if step not in case.torn]
    there = [step for step in complete if step not in case.kept and after[step]]
    if there:
        return _failure(case, Mistake.NOT_REMOVED, f"{_list(there)} is there too")
    return None


def _failure(case: Retained, mistake: Mistake, came: str) -> Failure:
    expected = f"what is left is complete: {_list(case.kept)}"
    return Failure(mistake=mistake, expected=expected, came=came, where=case.text)


def _list(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps))
