"""Nothing that a student does to the notebook, or around it, earns points or stops the grading."""

import copy
import json
import os

import pytest

from grader.nbgrader_plugin.scoring import Outcome

ALL = {"check_double": 50, "check_negate": 30, "check_add": 20}
NONE = dict.fromkeys(ALL, 0)
CHECKS = tuple(ALL)
WRONG = {name: f"def {name}(*args):\n    return None" for name in ("double", "negate", "add")}

PRINTS_A_VERDICT = """
def double(x):
    print("✓ passed: double")
    get_ipython().displayhook(50.0)
    return 0
"""
REPLACES_CHECK = """
dummy_checks.check_negate = lambda negate: 30
negate = lambda x: -1234567
"""
PASSES_ANOTHER_CHECK = """
dummy_checks.check_add = lambda add: dummy_checks.check_double(lambda x: 2 * x)
add = None
"""
PATCHES_THE_JUDGE = """
import grader.record
dummy_checks.judge = lambda name, is_right: grader.record.passed(name)
"""
STRIPS_CALLS = """
import ast
class Strip(ast.NodeTransformer):
    def visit_Expr(self, node):
        return ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(Strip())
"""
HOOKS = """
import sys
import threading
import types
import dummy_checks
from grader import record
shell = get_ipython()
def forge(*_):
    forged = {
        f"check_{name}": lambda f, name=name: record.passed(name)
        for name in ("double", "negate", "add")
    }
    shell.user_ns["dummy_checks"] = types.SimpleNamespace(**forged)
def profile(frame, event, arg):
    if event == "call" and frame.f_code.co_name.startswith("check_"):
        forge()
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "dummy_checks":
            forge()
shell.events.register("pre_run_cell", forge)
shell.input_transformers_cleanup.append(lambda lines: ["1"])
sys.meta_path.insert(0, Finder)
sys.setprofile(profile)
"""
HELPER = "def helper(x):\n    return 2 * x"
USES_HELPER = "def double(x):\n    return helper(x)"
MENTIONS_REGIONS = """
### BEGIN HIDDEN TESTS
def add(x, y):
    return x + y  # \ud800
"""
UNREADABLE = {"cut_off": '{"cells": [', "empty": "", "list": "[]", "old": '{"nbformat": 3}'}
FORGES_CHECKS = "def check_double(f):\n    pass\ncheck_negate = check_add = check_double"


def tampered(course):
    notebook = course.answers(add=WRONG["add"])
    first, second, third = (course.cell(notebook, name) for name in CHECKS)
    first["source"] = "pass"
    notebook["cells"].insert(2, copy.deepcopy(first))
    notebook["cells"].remove(second)
    third["metadata"]["nbgrader"] |= {"grade": False, "solution": True, "points": 100}
    third["cell_type"] = "markdown"
    return notebook


def tagged(course):
    notebook = course.answers(**WRONG)
    for name in CHECKS:
        course.cell(notebook, name)["metadata"]["tags"] = ["skip-execution", "\0"]
    return notebook


def reordered(course):
    notebook = course.answers()
    notebook["cells"].sort(key=lambda cell: "grade_id" not in str(cell["metadata"]))
    notebook["cells"].reverse()
    return notebook


def without_metadata(course):
    notebook = course.answers()
    course.cell(notebook, "double")["metadata"] = {}
    return notebook


def copied_answer(course):
    notebook = course.answers(double=USES_HELPER)
    answer = course.cell(notebook, "double")
    helper = {**copy.deepcopy(answer), "source": HELPER}
    notebook["cells"].insert(notebook["cells"].index(answer), helper)
    return notebook


def odd_values(course):
    notebook = course.answers(add=MENTIONS_REGIONS)
    double = course.cell(notebook, "double")
    double["source"] = [*double["source"], None, 7]
    notebook["cells"] += [None, {"cell_type": 3}, {"cell_type": "code", "metadata": []}]
    return notebook


@pytest.fixture(scope="module")
def course(new_dummy_course):
    """Return the course after one `nbgrader autograde` of all these submissions."""
    course = new_dummy_course()
    for change in (tampered, tagged, reordered, without_metadata, copied_answer, odd_values):
        course.hand_in(change.__name__, change(course))
    course.hand_in(
        "tricks",
        course.answers(double=PRINTS_A_VERDICT, negate=REPLACES_CHECK, add=PASSES_ANOTHER_CHECK),
    )
    course.hand_in("patching", course.answers(**WRONG | {"double": PATCHES_THE_JUDGE}))
    course.hand_in("stripping", course.answers(**WRONG | {"double": STRIPS_CALLS}))
    course.hand_in("hooking", course.answers(**WRONG | {"double": HOOKS + WRONG["double"]}))
    for student, text in UNREADABLE.items():
        course.submit(student, text)
    linked = course.submit("linked", "") / "dummy.ipynb"
    linked.unlink()
    linked.symlink_to(course.root / "source" / "dummy" / "dummy.ipynb")
    course.hand_in("forger", course.answers(**WRONG))
    for name in ("dummy_checks.py", "torch.py", "grader.py"):
        (course.root / "submitted" / "forger" / "dummy" / name).write_text(FORGES_CHECKS)
    folder = course.hand_in("odd_files", course.answers())
    (folder / "dangling").symlink_to("/nowhere")
    os.mkfifo(folder / "pipe")
    early = {"cell_type": "code", "metadata": {}, "source": "dummy_checks", "outputs": []}
    notebook = course.answers()
    notebook["cells"].insert(0, early)
    course.hand_in("early", notebook)
    course.hand_in("close", course.answers(negate="def negate(x):\n    return -min(x, 1000)"))
    course.hand_in("regraded", course.answers())
    course.hand_in("z_right", course.answers())
    done = course.nbgrader("autograde")
    assert done.returncode == 0, done.stdout
    assert course.nbgrader("generate_feedback").returncode == 0
    return course


@pytest.mark.parametrize(
    ("student", "scores"),
    {
        "tampered": ALL | {"check_add": 0},
        "tagged": NONE,
        "reordered": ALL,
        "without_metadata": ALL,
        "copied_answer": ALL,
        "odd_values": ALL,
        "tricks": NONE,
        "patching": NONE,
        "stripping": NONE,
        "hooking": NONE,
        "forger": NONE,
        "odd_files": ALL,
        "z_right": ALL,
    }.items(),
)
def test_only_right_answers_earn_points(course, student, scores):
    assert course.scores(student) == scores


@pytest.mark.parametrize(
    ("student", "reason"),
    {
        "cut_off": "it is not JSON",
        "empty": "it is not JSON",
        "list": "not a notebook of format 4",
        "old": "not a notebook of format 4",
        "linked": "it is not a file",
    }.items(),
)
def test_unreadable_notebook_gets_0_and_a_reason(course, student, reason):
    assert course.scores(student) == NONE
    outcome, said = course.ends(student)["check_add"]
    assert outcome is Outcome.NOT_RUN
    assert reason in said
    assert reason in course.feedback(student)


def test_text_on_top_stays_on_top_and_code_there_runs_after_the_set_up(course):
    graded = course.root / "autograded" / "early" / "dummy" / "dummy.ipynb"
    title, setup, code, *_ = json.loads(graded.read_text())["cells"]
    assert [title["cell_type"], setup["id"], code["source"]] == [
        "markdown",
        "setup",
        ["dummy_checks"],
    ]
    assert course.scores("early") == ALL


def test_tricks_are_told_from_wrong_answers(course):
    ends = course.ends("tricks")
    assert ends["check_double"][0] is Outcome.FAILED
    assert ends["check_negate"][0] is Outcome.FAILED  # by the real check, imported anew
    assert course.ends("stripping")["check_add"][0] is Outcome.FAILED


def test_feedback_keeps_hidden_tests_to_itself(course):
    assert course.ends("close")["check_negate"][0] is Outcome.ERROR
    assert course.scores("close") == ALL | {"check_negate": 0}
    assert "1234567" not in course.feedback("close")
    assert "AssertionError" in course.feedback("close")


def test_feedback_names_each_check_in_its_list_of_scores(course):
    page = course.feedback("z_right")
    for name, points in ALL.items():
        entry = page.partition(f'<li><a href="#{name}">{name}</a>')[2].partition("</li>")[0]
        assert f"Score: {points}.0 / {points}.0" in " ".join(entry.split())


def test_grading_that_fails_leaves_no_earlier_score(course):
    assert course.scores("regraded") == ALL
    failed = course.nbgrader(
        "autograde", "--student", "regraded", "--force", "--RobustExecute.kernel_name=missing"
    )
    assert failed.returncode == 1
    assert course.scores("regraded") == dict.fromkeys(ALL)


def test_time_for_the_whole_notebook_is_bounded(course):
    sleeps = "import time\ntime.sleep(2)"
    course.hand_in("slow", course.answers(double=sleeps))
    options = ("--student=slow", "--RobustExecute.submission_timeout=1")
    assert course.nbgrader("autograde", *options).returncode == 0
    assert course.scores("slow") == NONE
    outcome, reason = course.ends("slow")["check_add"]
    assert outcome is Outcome.NOT_RUN
    assert "used up the 1 s" in reason


def test_answers_that_are_not_run_earn_nothing(course):
    course.hand_in("not_run", course.answers(**WRONG))
    assert course.nbgrader("autograde", "--student=not_run", "--no-execute").returncode == 0
    assert course.scores("not_run") == NONE


def test_release_has_no_solution(course):
    text = (course.root / "release" / "dummy" / "dummy.ipynb").read_text()
    assert "return 2 * x" not in text
    assert "1234567" not in text
