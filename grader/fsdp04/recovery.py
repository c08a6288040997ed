"""What is found after a crash: the newest checkpoint loaded, trained on from, and saved anew."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist
from torch.distributed.checkpoint.api import CheckpointException

from grader.cases import Case
from grader.fsdp04.exercise import LatestComplete, LoadShards, SaveCheckpoint
from grader.fsdp04.state import (
    Snapshot,
    TrainState,
    Truth,
    fill,
    new_state,
    take_snapshot,
    take_steps,
)
from sandbox.faults import record_file_changes


@dataclass(frozen=True)
class Scenario:
    """A folder of checkpoints after something happened (`text`), and what may be found in it.

    `steps` are those of the checkpoints that may be the newest. With 0 among them it may hold none.
    After those that are `continued` a step is taken, and saved amid what is there.
    """

    root: str
    text: str
    steps: tuple[int, ...]
    is_continued: bool = True


@dataclass(frozen=True)
class Recovery:
    """What one rank saw: the newest checkpoint's path, and snapshots; None where it did not come.

    `trouble` is what was raised, in `stage`: "latest", "load", "save", "latest again", "reload".
    """

    latest: str | None = None
    loaded: Snapshot | None = None
    stepped: Snapshot | None = None
    saved: Snapshot | None = None
    stage: str = ""
    trouble: str = ""


def observe_recoveries(
    save_checkpoint: SaveCheckpoint,
    latest_complete: LatestComplete,
    load_shards: LoadShards,
    case: Case,
    start: Truth,
    scenarios: Sequence[Scenario],
) -> list[Recovery]:
    """Go on from each folder in turn. Collective: every rank must call this."""
    logging.disable()  # dcp logs what it then raises, which is what counts
    state = new_state(case)
    functions = (save_checkpoint, latest_complete, load_shards)
    return [_recover(state, *functions, case, start, scenario) for scenario in scenarios]


def _recover(
    state: TrainState,
    save_checkpoint: SaveCheckpoint,
    latest_complete: LatestComplete,
    load_shards: LoadShards,
    case: Case,
    start: Truth,
    scenario: Scenario,
) -> Recovery:
    seen: dict[str, Any] = {}

    def load() -> Snapshot:
        found = _find(latest_complete, scenario.root)
        seen.setdefault("latest", found)
        seen["stage"] = "reload" if "loaded" in seen else "load"
        if found is None:
            fill(state, start, 0)
        else:
            load_shards(found, state)
        return take_snapshot(state)

    try:
        seen["stage"] = "latest"
        seen["loaded"] = load()
        if scenario.is_continued and isinstance(state.step, int):
            take_steps(state, case, 1)
            seen["stepped"] = take_snapshot(state)
            seen["stage"] = "save"
            save_checkpoint(scenario.root, state)
            dist.barrier()  # some ranks may return before rank 0 has committed
            seen["stage"] = "latest again"
            seen["saved"] = load()
    except NotImplementedError:
        raise
    except (Exception, CheckpointException) as error:  # whatever it is, it is told
        return Recovery(**seen, trouble=_describe(error, scenario.root))
    return Recovery(**{**seen, "stage": ""})


def _describe(error: BaseException, root: str) -> str:
    """Return what was raised; the folder's name is another one each time, and left out."""
    if isinstance(error, CheckpointException) and error.failures:
        error, _ = next(iter(error.failures.values()))
    return f"{type(error).__name__}: {error}".replace(root, "root")[:200]


def _find(latest_complete: LatestComplete, root: str) -> str | None:
    """Return the newest checkpoint's path, the same on every rank."""
    found = error = None
    try:
        with record_file_changes() as changes:
            found = latest_complete(root)
        found = None if found is None else os.fspath(found)
        if changes:
            what = f"{changes[0].kind.value} of {os.path.basename(changes[0].path)}"
            raise FilesChangedError(what)
    except NotImplementedError:
        raise
    except (Exception, CheckpointException) as caught:
        error = caught
    everywhere: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (found, repr(error)))
    if error is not None:
        raise error
    if len(set(everywhere)) > 1:
        names = [os.path.basename(path) if path else str(path) for path, _ in everywhere]
        raise RanksDisagreeError(", ".join(f"rank {i}: {name}" for i, name in enumerate(names)))
    return found


class FilesChangedError(RuntimeError):
    """Raised when latest_complete has changed a file."""


class RanksDisagreeError(RuntimeError):
    """Raised when ranks do not all find the same newest checkpoint."""
