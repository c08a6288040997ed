"""Where a Ray Train run on warm ranks keeps its reports and checkpoints; read without Ray."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.plain import as_plain

CHECKPOINT_PREFIX = "checkpoint_"

# One report: its metrics, numbers as they are and anything else as the name of its type.
Report = dict[str, Any]


def checkpoint_path(storage: Path, index: int) -> Path:
    """Return the directory of the checkpoint that belongs to report number `index`."""
    return storage / f"{CHECKPOINT_PREFIX}{index:06d}"


def checkpoints(storage: Path) -> list[Path]:
    """Return the complete checkpoints, the oldest first."""
    return sorted(path for path in storage.glob(f"{CHECKPOINT_PREFIX}*") if not path.suffix)


def write_report(
    storage: Path, rank: int, metrics: Mapping[str, Any], has_checkpoint: bool = False
) -> None:
    """Append one rank's report, and whether a checkpoint came with it."""
    numbers_and_text = {str(key): as_plain(value) for key, value in metrics.items()}
    with _reports_path(storage, rank).open("a") as file:
        file.write(json.dumps([numbers_and_text, has_checkpoint]) + "\n")


def read_reports(storage: Path, world_size: int) -> list[list[Report]]:
    """Return the reports of each rank, in order; also those that the others never answered."""
    return [[report for report, _ in _read(storage, rank)] for rank in range(world_size)]


def ranks_without_checkpoint(storage: Path, world_size: int) -> list[int]:
    """Return the ranks whose last report came without a checkpoint, though another's had one."""
    last = [_read(storage, rank)[-1:] for rank in range(world_size)]
    gave = [bool(report and report[0][1]) for report in last]
    return [rank for rank, has_given in enumerate(gave) if not has_given and any(gave)]


def clear_reports(storage: Path) -> None:
    """Forget the reports of an earlier run; its checkpoints stay."""
    for path in storage.glob("reports_rank*.jsonl"):
        path.unlink()


def _reports_path(storage: Path, rank: int) -> Path:
    return storage / f"reports_rank{rank}.jsonl"


def _read(storage: Path, rank: int) -> list[tuple[Report, bool]]:
    path = _reports_path(storage, rank)
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(json.loads(line)) for line in lines]
