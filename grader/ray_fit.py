"""Run a trainer for real: `fit()` on a Ray of its own, in a process that ends with this one."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import cloudpickle

from grader.ray_driver import STEPS
from grader.ray_kill import WorkerSteps, read_steps
from grader.verdict import NotSolved, is_left_out, not_solved, show
from sandbox.progress import waiting

EXPECTED_S = 30.0
TIMEOUT_S = 180.0
TICK_S = 0.2
END_TIMEOUT_S = 10.0
MAX_LOG_LINES = 30


class RayFitError(RuntimeError):
    """Raised when the real run did not end well; its text is the end of Ray's own output."""

    def _render_traceback_(self) -> list[str]:
        return [f"RayFitError: {self}"]


class FitStopped(KeyboardInterrupt):
    """Raised when Stop ended the real run; Ray has been ended with it."""

    def _render_traceback_(self) -> list[str]:
        return ["KeyboardInterrupt: the run was stopped; its Ray has ended."]


@dataclass(frozen=True)
class Fit:
    """What a real run reported last, the files of its last checkpoint, and what its workers did."""

    metrics: dict[str, Any]
    checkpoint_files: list[str]
    duration_s: float
    workers: list[WorkerSteps]  # recorded where one is killed; else empty


def fit(
    make_trainer: Callable[[Any, str], Any],
    num_workers: int | tuple[int, int],
    keep_checkpoint: Path | None = None,
    kill_at: int | None = None,
) -> Fit:
    """Call `make_trainer(num_workers, path).fit()` in a child process, with a Ray of its own.

    With `kill_at` the last worker is killed, once, when it has taken so many steps. The last
    checkpoint is copied to `keep_checkpoint`; nothing else is left behind.
    """
    start_s = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="slr-"))  # short: Ray puts sockets below it
    try:
        (directory / "call.pkl").write_bytes(
            cloudpickle.dumps((make_trainer, num_workers, kill_at))
        )
        result = _drive(directory)
        checkpoint = Path(result["checkpoint"] or directory / "none")
        files = sorted(str(path.relative_to(checkpoint)) for path in checkpoint.rglob("*"))
        if keep_checkpoint is not None and checkpoint.exists():
            shutil.copytree(checkpoint, keep_checkpoint)
        workers = read_steps(directory / STEPS)
        return Fit(result["metrics"] or {}, files, time.monotonic() - start_s, workers)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _drive(directory: Path) -> dict[str, Any]:
    """Run the driver to its end; return what it wrote. Its output goes to a file."""
    result_fd, driver_fd = os.pipe()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    with (directory / "log.txt").open("w+") as log, os.fdopen(result_fd) as results:
        driver = subprocess.Popen(
            [sys.executable, "-m", "grader.ray_driver", str(directory), str(driver_fd)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(driver_fd,),
            start_new_session=True,
            env=environment,
        )
        os.close(driver_fd)
        try:
            _wait(driver)
        finally:
            _end(driver)
        text = results.read()
        if not text:
            raise _error_of(log)
        result: dict[str, Any] = json.loads(text)
        return result


def _end(driver: subprocess.Popen[bytes]) -> None:
    """Have the driver end its Ray and itself, if they still run: on Stop, or at the timeout."""
    assert driver.stdin is not None
    driver.stdin.close()
    try:
        driver.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        driver.kill()
        driver.wait()


def _wait(driver: subprocess.Popen[bytes]) -> None:
    """Wait for the driver with a progress bar, at most TIMEOUT_S."""
    end_s = time.monotonic() + TIMEOUT_S
    with waiting("Ray starts its workers and trains", EXPECTED_S) as tick:
        while driver.poll() is None and time.monotonic() < end_s:
            tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                driver.wait(TICK_S)


def _error_of(log: IO[str]) -> Exception:
    """Return what to raise for a run that left no result: the end of its output says why."""
    log.seek(0)
    lines = log.read().splitlines()[-MAX_LOG_LINES:]
    if lines and lines[-1] == "NotImplementedError":
        return NotSolved("fit_on_ray", "make_trainer")
    return RayFitError("\n".join(["the run did not end well. The end of its output:", *lines]))


def fit_and_tell(make_trainer: Callable[[int, str], Any], num_workers: int = 2) -> None:
    """Fit and print what came of it; while nbgrader grades, do nothing."""
    if is_left_out():
        return
    try:
        done = fit(make_trainer, num_workers)
    except NotSolved:
        show(not_solved("fit_on_ray", "make_trainer"))
        return
    except KeyboardInterrupt:
        raise FitStopped from None
    numbers = ", ".join(f"{key} {value:.4g}" for key, value in sorted(done.metrics.items()))
    show(f"{num_workers} Ray workers trained: {numbers}")
    show(f"checkpoint: {', '.join(done.checkpoint_files)}")
