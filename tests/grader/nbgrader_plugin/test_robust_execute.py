"""A submission may end, freeze or flood its kernel: it is graded on, and leaves nothing running."""

import psutil
import pytest

from grader.nbgrader_plugin.scoring import Outcome

CELL_TIMEOUT_S = 2
OPTIONS = (f"--RobustExecute.timeout={CELL_TIMEOUT_S}", "--RobustExecute.iopub_timeout=1")

SWALLOWS_INTERRUPTS = """
while True:
    try:
        while True:
            pass
    except KeyboardInterrupt:
        pass
"""
DIES_WHEN_CHECKED = """
def add(x, y):
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
"""
LEAVES_PROCESSES = """
import os, subprocess
sleep = ["sleep", "619"]
subprocess.Popen(sleep)
subprocess.Popen(sleep, start_new_session=True)
subprocess.Popen(["sh", "-c", "setsid sleep 619 &"], env={"PATH": os.environ["PATH"]})
os._exit(7)
"""
WRITES_TO_STDERR = """
import os, subprocess, sys, warnings
def double(x):
    warnings.warn("careful")
    print("note", file=sys.stderr)
    subprocess.run(["sh", "-c", "echo from a child >&2"])
    os.write(2, b"from C")
    return 2 * x
"""
LEAVES_FILES = """
import os, tempfile
def negate(x):
    return -x
os.symlink("/nowhere", "dangling")
open("checkpoint.bin", "w").close()
left = tempfile.mkdtemp()
"""


@pytest.fixture(scope="module")
def course(new_dummy_course):
    """Return the course after one `nbgrader autograde` of all these submissions."""
    course = new_dummy_course()
    hostile = {
        "a_loop": {"negate": "while True: pass"},
        "b_frozen": {"negate": SWALLOWS_INTERRUPTS},
        "c_died": {"negate": "import os\nos._exit(3)", "add": DIES_WHEN_CHECKED},
        "d_died_often": {
            "double": "import os\nos._exit(0)",
            "negate": "import os\nos._exit(0)",
            "add": "import os\nos._exit(0)",
        },
        "e_flood": {"add": "while True: print('x' * 10_000)"},
        "f_leaky": {"negate": LEAVES_PROCESSES},
        "g_stderr": {"double": WRITES_TO_STDERR},
        "h_files": {"negate": LEAVES_FILES},
        "i_exit": {"negate": "import sys\nsys.exit(0)", "add": "def add(x, y) return x"},
        "z_right": {},
    }
    for student, sources in hostile.items():
        course.hand_in(student, course.answers(**sources))
    done = course.nbgrader("autograde", *OPTIONS)
    assert done.returncode == 0, done.stdout
    return course


def test_right_submission_after_all_the_others_gets_100(course):
    assert course.scores("z_right") == {"check_double": 50, "check_negate": 30, "check_add": 20}


def test_endless_loop_costs_its_own_points(course):
    assert course.scores("a_loop") == {"check_double": 50, "check_negate": 0, "check_add": 20}


def test_frozen_kernel_costs_its_own_points(course):
    assert course.scores("b_frozen") == {"check_double": 50, "check_negate": 0, "check_add": 20}


def test_dead_kernel_is_replaced_and_named(course):
    assert course.scores("c_died") == {"check_double": 50, "check_negate": 0, "check_add": 0}
    outcome, reason = course.ends("c_died")["check_add"]
    assert outcome is Outcome.STOPPED
    assert "SIGKILL" in reason


def test_kernels_are_replaced_a_limited_number_of_times(course):
    assert sum(course.scores("d_died_often").values()) == 0
    outcome, reason = course.ends("d_died_often")["check_add"]
    assert outcome is Outcome.NOT_RUN
    assert "ended the kernel 3 times" in reason


def test_flood_of_output_is_cut(course):
    assert course.scores("e_flood") == {"check_double": 50, "check_negate": 30, "check_add": 0}
    graded = course.root / "autograded" / "e_flood" / "dummy" / "dummy.ipynb"
    assert graded.stat().st_size < 2_000_000


def test_text_on_stderr_costs_nothing(course):
    assert course.scores("g_stderr") == {"check_double": 50, "check_negate": 30, "check_add": 20}


def test_what_the_kernel_wrote_is_not_kept(course):
    assert sum(course.scores("h_files").values()) == 100
    folder = course.root / "autograded" / "h_files" / "dummy"
    assert [path.name for path in folder.iterdir()] == ["dummy.ipynb"]


def test_exit_and_syntax_error_are_errors_of_their_cells(course):
    assert course.scores("i_exit") == {"check_double": 50, "check_negate": 0, "check_add": 0}


def test_no_process_is_left(course):
    assert course.scores("f_leaky") == {"check_double": 50, "check_negate": 0, "check_add": 20}
    commands = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
    assert ["sleep", "619"] not in commands
