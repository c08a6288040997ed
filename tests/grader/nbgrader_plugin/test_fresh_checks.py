"""No change that an answer makes to the checks or the sandbox outlives the start of a check."""

import os
import subprocess
import sys

import nbformat
import pytest

from grader.nbgrader_plugin.fresh_checks import fresh_import

pytestmark = pytest.mark.timeout(120)
LOCKED = {"grade": False, "solution": False, "locked": True, "grade_id": "setup"}
GRADED = {"grade": True, "solution": False, "locked": True, "grade_id": "check", "points": 1}
SETUP = "import sandbox\nfrom grader import fsdp01\nfrom sandbox import toys"
CHECK = "fsdp01.check_padded_numel(padded_numel)"
FAKE = "def fake(*args, **options):\n    raise SystemExit('faked')\n"
PRINT = "print(sandbox.launch(lambda: 1, world_size=1).results == [1])"
TRICKS = [  # this one first: it loses the warm process, if there is one
    "import sandbox.ranks.warm\nsandbox.ranks.warm._running = {'gloo': fake}",
    "sandbox.launch = fake",
    "sandbox.launcher.launch = fake",
    "import sandbox.world\nsandbox.world.World.call = fake",
    "import sandbox.ranks.warm\nsandbox.ranks.warm.get = fake",
    "import sandbox.ranks.warm\nsandbox.ranks.warm.Warm.fork_supervisor = fake",
    "import sandbox.run\nsandbox.run.Run = fake",
]


def code():
    setup = nbformat.v4.new_code_cell(SETUP, metadata={"nbgrader": LOCKED})
    check = nbformat.v4.new_code_cell(CHECK, metadata={"nbgrader": GRADED})
    return fresh_import([setup, check])


def run(*parts):
    """Run the parts one after the other in a Python of their own, as a kernel would."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(["import os", SETUP, *parts])],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        timeout=100,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_patched_sandbox_is_put_right():
    """One trick after the other, in a Python that has a warm process by the second one."""
    parts = [part for trick in TRICKS for part in (trick, code(), PRINT)]
    assert run("import sandbox.launcher", FAKE, *parts).startswith("True\n" * len(TRICKS))


@pytest.mark.slow
def test_the_warm_process_is_kept_and_names_follow():
    out = run(
        "sandbox.launch(lambda: 1, world_size=1)",
        "from sandbox.ranks import warm\nfrom sandbox.toys import Block",
        "from sandbox.errors import RankError",
        "first = warm._running['gloo'].process.pid\nold = [warm]",
        code(),
        code(),
        "assert warm is not old[0] and warm is sys.modules['sandbox.ranks.warm']",
        "assert Block is sys.modules['sandbox.toys'].Block is toys.Block",
        "assert RankError is sandbox.RankError is sys.modules['grader.explain'].RankError",
        "sandbox.launch(lambda: 1, world_size=1)",
        "old[0].get()  # a World that the notebook made before goes on with the same process",
        "pids = {module._running['gloo'].process.pid for module in (old[0], warm)}",
        "print(pids == {first})",
    )
    assert out == "True\n"
