"""Grade sample submissions with nbgrader, in a course directory of their own, and show the results.

Run with: python -m grader grade
"""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
from rich.table import Table

from grader.course import find_page
from grader.course_directory import CellResult, CourseDirectory
from grader.nbgrader_plugin.scoring import Outcome
from grader.samples import read_samples, submission

NUM_AT_ONCE = 2  # each is a process of its own; nbgrader's database takes their turns
SYMBOLS = {Outcome.PASSED: "[green]✓", Outcome.NOT_SOLVED: "[dim]○", Outcome.NOT_RUN: "[dim]–"}


def grade_samples(exercise: str = "fsdp01") -> int:
    """Grade the samples of one exercise and print a table; return the exit status."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="shardlab-grade-") as root:
        console.print(f"Releasing {exercise} and handing in sample submissions …")
        course = CourseDirectory.create(Path(root), find_page(exercise).text)
        students = list(_submit(course))
        with _progress(console) as progress:
            bar = progress.add_task("Grading with nbgrader", total=len(students))
            seconds = {}
            for student, took_s in grade(course, students):
                seconds[student] = took_s
                progress.advance(bar)
        results = {student: course.results(student) for student in students}
    console.print(score_table(results, seconds))
    for line in reasons(results):
        console.print(line, soft_wrap=True, highlight=False)
    return 0


def grade(course: CourseDirectory, students: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Grade the students' submissions, two at a time; yield each with the seconds it took."""

    def autograde(student: str) -> float:
        start_s = time.monotonic()
        course.nbgrader("autograde", f"--student={student}")
        return time.monotonic() - start_s

    with ThreadPoolExecutor(NUM_AT_ONCE) as pool:
        running = {pool.submit(autograde, student): student for student in students}
        for done in as_completed(running):
            yield running[done], done.result()


def score_table(results: dict[str, list[CellResult]], seconds: dict[str, float]) -> Table:
    """Return a table with a row per student, and a column per graded cell, by number."""
    cells = next(iter(results.values()))
    table = Table(title="Points per graded cell")
    table.add_column("student")
    for number, cell in enumerate(cells, start=1):
        table.add_column(f"{number}\n{cell.max_score:g}", justify="right")
    table.add_column("total", justify="right")
    table.add_column("s", justify="right")
    for student, found in results.items():
        marks = [f"{SYMBOLS.get(cell.outcome, '[red]✗')} {cell.score or 0:g}" for cell in found]
        total = sum(cell.score or 0 for cell in found)
        table.add_row(student, *marks, f"[bold]{total:g}", f"{seconds[student]:.0f}")
    return table


def reasons(results: dict[str, list[CellResult]]) -> Iterator[str]:
    """Yield a line for each cell that earned nothing: the mistake named, or what happened."""
    for student, found in results.items():
        for number, cell in enumerate(found, start=1):
            if cell.outcome not in (Outcome.PASSED, Outcome.NOT_SOLVED):
                yield f"{student}, {number} {cell.grade_id}: {cell.outcome}: {cell.reason}"


def _submit(course: CourseDirectory) -> Iterator[str]:
    for student, module in {"right": "", **read_samples(course.exercise)}.items():
        course.submit(student, submission(course.source(), module))
        yield student
    course.submit("blank", json.dumps(course.released()))
    yield "blank"


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn(), console=console
    )
