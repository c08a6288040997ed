"""Tell the process that grades, and it alone, which checks have passed."""

import os
from dataclasses import dataclass
from pathlib import Path

RECORDS_VARIABLE = "SHARDLAB_RECORDS"  # path of the file of records; set only while grading


def passed(check: str) -> None:
    """Note that this check has passed, if this kernel is being graded."""
    path = os.environ.get(RECORDS_VARIABLE)
    if path is not None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{check}\n")


@dataclass
class RecordReader:
    """Reads the names that a kernel leaves in the file `path`, each once, in order."""

    path: Path
    _num_read: int = 0

    def new(self) -> list[str]:
        """Return the names of the checks that have passed since the last call."""
        text = self.path.read_text("utf-8", "replace") if self.path.exists() else ""
        names = text.splitlines()[self._num_read :]
        self._num_read += len(names)
        return names
