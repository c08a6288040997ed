"""Grade sample submissions with nbgrader, in a course directory of their own, and show the results.

Run with: python -m grader grade
"""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
from rich.table import Table

from grader.course import find_page
from grader.course_directory import CellResult, CourseDirectory
from grader.nbgrader_plugin.scoring import Outcome
from grader.samples import exercises_with_samples, read_samples, submission

NUM_AT_ONCE = 2  # each is a process of its own; nbgrader's database takes their turns
ZERO_MARKS = {Outcome.NOT_SOLVED: "[dim]○", Outcome.NOT_RUN: "[dim]–"}


def grade_all_samples() -> int:
    """Grade the samples of every exercise that has some; return 1 if one was not graded."""
    return max(grade_samples(exercise) for exercise in exercises_with_samples())


def grade_samples(exercise: str) -> int:
    """Grade the samples of one exercise and print a table; return 1 if one was not graded."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="shardlab-grade-") as root:
        console.print(f"Releasing {exercise} and handing in sample submissions …")
        course = CourseDirectory.create(Path(root), find_page(exercise).text)
        seconds = _grade_with_progress(course, list(_submit(course)), console)
        results = {student: course.results(student) for student in seconds}
        stopped = {student: course.stopped_answers(student) for student in seconds}
    console.print(score_table(results, seconds))
    for line in reasons(results, stopped):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    return int(any(cell.score is None for cells in results.values() for cell in cells))


def _grade_with_progress(
    course: CourseDirectory, students: list[str], console: Console
) -> dict[str, float]:
    """Grade and show how far that is; return the seconds per student, in the order given."""
    columns = (SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn())
    seconds = dict.fromkeys(students, 0.0)
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("Grading with nbgrader", total=len(students))
        for student, took_s in grade(course, students):
            seconds[student] = took_s
            points = sum(cell.score or 0 for cell in course.results(student))
            progress.console.print(f"{student}: {points:g} points, after {took_s:.0f} s")
            progress.advance(bar)
    return seconds


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
    table = Table(box=SIMPLE_HEAD, title="Points per graded cell", padding=(0, 1, 0, 0))
    table.add_column("cell\nof")
    for number, cell in enumerate(next(iter(results.values())), start=1):
        table.add_column(f"{number}\n{cell.max_score:g}", justify="right")
    table.add_column("total\n", justify="right")
    table.add_column("s\n", justify="right")
    for student, found in results.items():
        total = sum(cell.score or 0 for cell in found)
        table.add_row(student, *map(_mark, found), f"[bold]{total:g}", f"{seconds[student]:.0f}")
    table.caption = "✗ wrong   ○ not solved yet   – not run"
    return table


def _mark(cell: CellResult) -> str:
    if cell.outcome is Outcome.PASSED:
        return f"[green]{cell.score or 0:g}"
    return ZERO_MARKS.get(cell.outcome, "[red]✗")


def reasons(
    results: dict[str, list[CellResult]], stopped: dict[str, dict[str, str]]
) -> Iterator[str]:
    """Yield a line for each cell that earned nothing: the mistake named, or what happened."""
    for student, found in results.items():
        for cell_id, sentence in stopped.get(student, {}).items():
            yield f"{student}: {cell_id}: {sentence}"
        for number, cell in enumerate(found, start=1):
            if cell.outcome not in (Outcome.PASSED, Outcome.NOT_SOLVED):
                yield f"{student}: {number} {cell.grade_id}: {cell.explain()}"


def _submit(course: CourseDirectory) -> Iterator[str]:
    for student, module in {"right": "", **read_samples(course.exercise)}.items():
        course.submit(student, submission(course.source(), module))
        yield student
    course.submit("blank", json.dumps(course.released()))
    yield "blank"
