"""Set up the virtual environment: python3 tools/setup.py .venv [torch index]

Runs on whatever `python3` is: what is missing is said in one line, before anything is written.
"""

import os
import shutil
import subprocess
import sys

NEEDED_PYTHON = (3, 11)
NEEDED_GB = 8  # the environment with torch's CUDA wheels; with CPU wheels it takes 3


def main(venv, torch_index):
    """Create or complete `venv`, and mark it as done for make."""
    problem = find_problem(os.path.dirname(os.path.abspath(venv)))
    if problem:
        sys.exit("setup: " + problem)
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(python):
        run([sys.executable, "-m", "venv", venv])
    print("Installing (a few minutes the first time) ...", flush=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if torch_index:
        run([*pip, "torch>=2.13,<2.14", "--index-url", torch_index])
    run([*pip, "--editable", ".[dev]"])
    with open(os.path.join(venv, "installed"), "w"):
        pass


def find_problem(folder):
    """Return one line that says what this machine lacks and what to do, or None."""
    if sys.version_info < NEEDED_PYTHON:
        return "Python 3.11 or later is needed, %s is %d.%d. Try: make PYTHON=python3.11" % (
            sys.executable,
            sys.version_info[0],
            sys.version_info[1],
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return "Python's venv module is missing. On Debian or Ubuntu: apt install python3-venv"
    free_gb = shutil.disk_usage(folder).free / 1e9
    if free_gb < NEEDED_GB:
        return "%d GB of disk space are needed, %s has %.1f GB free." % (NEEDED_GB, folder, free_gb)
    return None


def run(command):
    """Run a command; its own last words are the error, without a traceback of ours."""
    status = subprocess.call(command)
    if status:
        sys.exit("setup: this failed: " + " ".join(command))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
