"""Grade the submissions of a class: python docker/grade_class.py fsdp01 SUBMITTED GRADED [--ray]

SUBMITTED holds STUDENT/fsdp01/fsdp01.ipynb, as nbgrader collects them. The new folder GRADED gets
grades.csv, with a row for each graded cell, and STUDENT.html, the student's feedback; with - for
GRADED they go to standard output, as a tar of `graded`. With --ray the work is spread over the Ray
cluster, whose workers need the image and no shared directory; else over this machine.
"""

import argparse
import csv
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path

from handed_in import HandedIn, read_class
from results import Archive, Folder, Place

from grader.course import find_page
from grader.course_directory import CellResult, CourseDirectory

COLUMNS = ("student", "cell", "score", "max_score", "outcome", "reason")
NUM_CPUS = 2  # for each submission: its kernel and its ranks


@dataclass(frozen=True)
class Graded:
    """What one student gets back; no cells and the reason in `problem`, if nbgrader failed."""

    student: str
    cells: list[CellResult]
    feedback: str
    problem: str = ""


def grade(exercise: str, student: str, notebook: str) -> Graded:
    """Grade one student's notebook in a course directory of its own, wherever this runs."""
    try:
        with tempfile.TemporaryDirectory(prefix="shardlab-class-") as root:
            course = CourseDirectory.create(Path(root), find_page(exercise).text)
            course.submit(student, notebook)
            for command in ("autograde", "generate_feedback"):
                done = course.nbgrader(command, f"--student={student}")
                if done.returncode:
                    why = last_error(done.stdout)
                    return Graded(student, [], "", f"nbgrader {command} failed: {why}")
            return Graded(student, course.results(student), course.feedback(student))
    except Exception as error:  # one student's misfortune is not the class's
        return Graded(student, [], "", f"grading failed: {type(error).__name__}: {error}")


def last_error(log: str) -> str:
    """Return the line of nbgrader's log that says most: the last exception, else the last line."""
    lines = [line for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (errors or lines or ["it said nothing"])[-1].strip()


def write(results: Iterator[Graded], place: Place) -> int:
    """Write each result as it comes; return how many could not be graded."""
    rows: list[tuple[object, ...]] = [COLUMNS]
    num_failed = 0
    for result in results:
        for cell in result.cells:
            why = (cell.outcome, cell.explain())
            rows.append((result.student, cell.grade_id, cell.score, cell.max_score, *why))
        if result.problem:
            rows.append((result.student, "", "", "", "not graded", result.problem))
            num_failed += 1
        else:
            place.put(f"{result.student}.html", result.feedback)
        place.put("grades.csv", to_csv(rows))
        points = sum(cell.score or 0 for cell in result.cells)
        told = result.problem or f"{points:g} points"
        print(f"{result.student}: {told}", file=sys.stderr, flush=True)
    return num_failed


def to_csv(rows: list[tuple[object, ...]]) -> str:
    """Return the rows as CSV whose texts no spreadsheet takes for formulas."""
    file = io.StringIO()
    table = csv.writer(file)
    for row in rows:
        table.writerow(
            f"'{each}" if str(each).startswith(tuple("=+-@\t\r")) else each for each in row
        )
    return file.getvalue()


def main() -> int:
    """Grade them all; return 1 if a submission could not be graded."""
    parser = argparse.ArgumentParser(description="Grade the submissions of a class.")
    parser.add_argument("exercise", help="for example fsdp01")
    parser.add_argument("submitted", type=Path, help="holds STUDENT/EXERCISE/EXERCISE.ipynb")
    parser.add_argument("graded", help="a new folder for grades.csv and the feedback; - for a tar")
    parser.add_argument("--ray", action="store_true", help="spread the work over a Ray cluster")
    options = parser.parse_args()
    try:
        find_page(options.exercise)
        handed_in = read_class(options.exercise, options.submitted)
        place = Folder(Path(options.graded)) if options.graded != "-" else Archive(sys.stdout)
    except ValueError as error:
        parser.error(str(error))
    num_failed = write(grade_all(options, handed_in), place)
    place.end()
    return int(num_failed > 0)


def grade_all(options: argparse.Namespace, handed_in: list[HandedIn]) -> Iterator[Graded]:
    """Yield each student's result as it comes."""
    yield from (Graded(each.student, [], "", each.problem) for each in handed_in if each.problem)
    notebooks = [(each.student, each.notebook) for each in handed_in if not each.problem]
    yield from (grade_on_ray if options.ray else grade_here)(options.exercise, notebooks)


def grade_here(exercise: str, notebooks: list[tuple[str, str]]) -> Iterator[Graded]:
    """Yield each result as it comes; one submission at a time for every two processors."""
    num_cpus = len(os.sched_getaffinity(0))
    with ThreadPool(max(1, num_cpus // NUM_CPUS)) as pool:
        yield from pool.imap_unordered(lambda each: grade(exercise, *each), notebooks)


def grade_on_ray(exercise: str, notebooks: list[tuple[str, str]]) -> Iterator[Graded]:
    """Yield each result as it comes; what a lost worker had is graded anew by another."""
    import ray

    ray.init()
    remote = ray.remote(num_cpus=NUM_CPUS)(grade)
    students = {remote.remote(exercise, *each): each[0] for each in notebooks}
    waiting = list(students)
    while waiting:
        (done,), waiting = ray.wait(waiting)
        try:
            yield ray.get(done)
        except ray.exceptions.RayError as error:
            yield Graded(students[done], [], "", f"Ray lost it: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    sys.exit(main())
