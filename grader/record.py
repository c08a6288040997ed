"""Which checks have passed, told to the process that grades; and which answers have failed here."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

RECORDS_VARIABLE = "SHARDLAB_RECORDS"  # path of the file of records; set only while grading
FAILED = "failed: "  # no check's name begins with it
_failed: set[str] = set()  # where nothing is graded; a graded kernel imports this module anew


def passed(check: str, functions: Collection[str] = ()) -> None:
    """Note that this check, of these functions, has passed."""
    _failed.difference_update(functions)
    _write(check)


def failed(functions: Collection[str]) -> None:
    """Note that a check of these functions has failed."""
    _failed.update(functions)
    for name in functions:
        _write(f"{FAILED}{name}")


def failed_functions() -> set[str]:
    """Return the functions whose check in this kernel has failed."""
    path = os.environ.get(RECORDS_VARIABLE)
    if path is None:
        return set(_failed)
    lines = _read(Path(path))
    return {line.removeprefix(FAILED) for line in lines if line.startswith(FAILED)}


def _write(line: str) -> None:
    path = os.environ.get(RECORDS_VARIABLE)
    if path is not None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def _read(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").splitlines() if path.exists() else []


@dataclass
class RecordReader:
    """Reads the names that a kernel leaves in the file `path`, each once, in order."""

    path: Path
    _num_read: int = 0

    def new(self) -> list[str]:
        """Return the names of the checks that have passed since the last call."""
        lines = _read(self.path)[self._num_read :]
        self._num_read += len(lines)
        return [line for line in lines if not line.startswith(FAILED)]
