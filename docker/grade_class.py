"""Grade the submissions of a class: python docker/grade_class.py fsdp01 SUBMITTED GRADED [--ray]

SUBMITTED holds STUDENT/fsdp01/fsdp01.ipynb, as nbgrader collects them. GRADED gets grades.csv, with
a row for each graded cell, and STUDENT.html, the student's feedback. With --ray the work is spread
over the Ray cluster, whose workers need the image and no shared directory; else over this machine.
"""

import argparse
import csv
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path

from grader.course import find_page
from grader.course_directory import CellResult, CourseDirectory

COLUMNS = ("student", "cell", "score", "max_score", "reason")
NUM_CPUS = 2  # for each submission: its kernel and its ranks


@dataclass(frozen=True)
class Graded:
    """What one student gets back; no cells and the reason in `problem`, if nbgrader failed."""

    student: str
    cells: list[CellResult]
    feedback: str
    problem: str = ""


def grade(exercise: str, handed_in: tuple[str, str]) -> Graded:
    """Grade one student's notebook in a course directory of its own, wherever this runs."""
    student, notebook = handed_in
    with tempfile.TemporaryDirectory(prefix="shardlab-class-") as root:
        course = CourseDirectory.create(Path(root), find_page(exercise).text)
        course.submit(student, notebook)
        for command in ("autograde", "generate_feedback"):
            done = course.nbgrader(command, f"--student={student}")
            if done.returncode:
                last = done.stdout.strip().splitlines()[-1:] or ["it said nothing"]
                return Graded(student, [], "", f"nbgrader {command} failed: {last[0]}")
        return Graded(student, course.results(student), course.feedback(student))


def submissions(exercise: str, submitted: Path) -> list[tuple[str, str]]:
    """Return (student, notebook) of each submission, in the order of their names."""
    paths = sorted(submitted.glob(f"*/{exercise}/{exercise}.ipynb"))
    return [(path.parts[-3], path.read_bytes().decode("utf-8", "replace")) for path in paths]


def write(results: Iterator[Graded], graded: Path) -> int:
    """Write each result as it comes; return how many could not be graded."""
    graded.mkdir(parents=True, exist_ok=True)
    num_failed = 0
    with (graded / "grades.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for result in results:
            for cell in result.cells:
                row = (cell.grade_id, cell.score, cell.max_score, cell.reason)
                table.writerow((result.student, *row))
            if result.problem:
                table.writerow((result.student, "", "", "", result.problem))
                num_failed += 1
            else:
                (graded / f"{result.student}.html").write_text(result.feedback, "utf-8")
            points = sum(cell.score or 0 for cell in result.cells)
            print(f"{result.student}: {result.problem or f'{points:g} points'}", flush=True)
    return num_failed


def main() -> int:
    """Grade them all; return 1 if a submission could not be graded."""
    parser = argparse.ArgumentParser(description="Grade the submissions of a class.")
    parser.add_argument("exercise", help="for example fsdp01")
    parser.add_argument("submitted", type=Path, help="holds STUDENT/EXERCISE/EXERCISE.ipynb")
    parser.add_argument("graded", type=Path, help="gets grades.csv and the feedback pages")
    parser.add_argument("--ray", action="store_true", help="spread the work over a Ray cluster")
    options = parser.parse_args()
    handed_in = submissions(options.exercise, options.submitted)
    if not handed_in:
        parser.error(
            f"{options.submitted} holds no STUDENT/{options.exercise}/{options.exercise}.ipynb."
        )
    grading = grade_on_ray if options.ray else grade_here
    return int(write(grading(options.exercise, handed_in), options.graded) > 0)


def grade_here(exercise: str, handed_in: list[tuple[str, str]]) -> Iterator[Graded]:
    """Yield each result as it comes; one submission at a time for every two processors."""
    with ThreadPool(max(1, (os.cpu_count() or 1) // NUM_CPUS)) as pool:
        yield from pool.imap_unordered(partial(grade, exercise), handed_in)


def grade_on_ray(exercise: str, handed_in: list[tuple[str, str]]) -> Iterator[Graded]:
    """Yield each result as it comes; what a lost worker had is graded anew by another."""
    import ray

    ray.init()
    remote = ray.remote(num_cpus=NUM_CPUS)(grade)
    students = {remote.remote(exercise, each): each[0] for each in handed_in}
    waiting = list(students)
    while waiting:
        (done,), waiting = ray.wait(waiting)
        try:
            yield ray.get(done)
        except ray.exceptions.RayError as error:
            yield Graded(students[done], [], "", f"Ray lost it: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    sys.exit(main())
