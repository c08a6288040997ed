"""Grading that is interrupted or killed leaves no kernel behind."""

import os
import signal
import subprocess

import psutil
import pytest

from grader.course_directory import NBGRADER

SAYS_WHEN = "open({path!r}, 'w').close()\nwhile True: pass"


def processes_of(course):
    """Return the processes that grading in this course started and that still exist."""
    return [
        process
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get("SHARDLAB_TEST_COURSE") == str(course.root)
    ]


@pytest.fixture(scope="module")
def course(new_dummy_course):
    return new_dummy_course()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_kernel_survives_its_grader(course, number):
    pipe = course.root / number.name
    os.mkfifo(pipe)
    course.hand_in(number.name, course.answers(double=SAYS_WHEN.format(path=str(pipe))))
    grading = subprocess.Popen(
        [NBGRADER, "autograde", "dummy", f"--student={number.name}"],
        cwd=course.root,
        env=course.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    pipe.read_text()  # returns when the looping cell has opened and closed it
    started = processes_of(course)
    assert len(started) >= 2
    grading.send_signal(number)
    assert grading.wait(timeout=30) != 0
    _, left = psutil.wait_procs(started, timeout=30)
    assert not left
    assert not processes_of(course)
