"""What goes into grade_class.py and comes out: submissions and grades."""

import csv
from collections import Counter
from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "exercises/source/fsdp01/fsdp01.ipynb"


def hand_in(folder: Path, student: str, notebook: bytes) -> None:
    """Lay a notebook out as nbgrader collects it."""
    path = folder / student / "fsdp01" / "fsdp01.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook)


def rows(graded: Path) -> list[dict[str, str]]:
    """Return the rows of grades.csv."""
    with (graded / "grades.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def points(graded: Path) -> dict[str, float]:
    """Return each student's points; 0 for one who was not graded."""
    total: Counter[str] = Counter()
    for row in rows(graded):
        total[row["student"]] += float(row["score"] or 0)
    return dict(total)
