"""Say in plain words whether this machine can run the course, and what to do where it cannot."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import resource
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sandbox import backend, gpus, nccl_settings
from sandbox.failure import count_ranks
from sandbox.free_memory import free_memory_bytes

NEEDED_MEMORY_GB = 4.0  # the warm process and Ray's own take 1.5 GB, JupyterLab and a kernel 1 GB
NEEDED_SHARED_MEMORY_GB = 1.0  # where Ray puts its objects; Docker gives 0.064 by default
NEEDED_DISK_GB = 1.0
NEEDED_FILES = 1024
PACKAGES = ("torch", "deepspeed", "ray", "nbgrader", "jupyterlab")


@dataclass(frozen=True)
class Finding:
    """One line of the report: `advice` says what to do, and is empty where all is well.

    Where `is_needed` is False, the course runs all the same.
    """

    subject: str
    found: str
    advice: str = ""
    is_needed: bool = True


def main() -> int:
    """Print the report; return 0 when the course can run, else 1."""
    failed = False
    for check in CHECKS:
        for finding in check():
            failed = failed or bool(finding.advice and finding.is_needed)
            mark = "✓" if not finding.advice else "✗" if finding.is_needed else "!"
            print(f"{mark} {finding.subject}: {finding.found}")  # noqa: T201
            if finding.advice:
                print(f"    → {finding.advice}")  # noqa: T201
    print("Something is missing." if failed else "This machine can run the course.")  # noqa: T201
    return int(failed)


def check_python() -> Iterator[Finding]:
    """Python's version and the operating system."""
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    is_fit = sys.version_info >= (3, 11) and platform.system() in ("Linux", "Darwin")
    advice = "" if is_fit else "Use Python 3.11 or later, on Linux, macOS, or Windows through WSL2."
    yield Finding("Python", found, advice)


def check_packages() -> Iterator[Finding]:
    """Each library in its own version, and whether it can be imported."""
    os.environ.update(backend.WARM_ENVIRONMENT)
    if not backend.has_nvidia_driver():
        os.environ["DS_ACCELERATOR"] = "cpu"
    for name in PACKAGES:
        try:
            importlib.import_module(name)
            yield Finding(name, importlib.metadata.version(name))
        except Exception as error:
            yield Finding(
                name, f"cannot be imported: {error}", "Run `make lab` again to install it."
            )


def check_memory() -> Iterator[Finding]:
    """Memory that is free now, and cores."""
    free_gb = free_memory_bytes() / 1e9
    too_little = f"{NEEDED_MEMORY_GB:g} GB are needed: close programs, or give the container more."
    advice = "" if free_gb >= NEEDED_MEMORY_GB else too_little
    yield Finding("memory", f"{free_gb:.1f} GB free, {os.cpu_count()} cores", advice)


def check_disk() -> Iterator[Finding]:
    """Room for checkpoints and, on Linux, for Ray's shared objects."""
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError:
        advice = "Set TMPDIR to a folder; in Docker, start the container with --tmpfs /tmp:exec."
        yield Finding("temporary files", "no folder can be written to", advice)
        return
    free_gb = shutil.disk_usage(folder).free / 1e9
    advice = (
        "" if free_gb >= NEEDED_DISK_GB else f"Free {NEEDED_DISK_GB:g} GB, or set TMPDIR elsewhere."
    )
    yield Finding("temporary files", f"{free_gb:.1f} GB free in {folder}", advice)
    if os.path.isdir("/dev/shm"):
        free_gb = shutil.disk_usage("/dev/shm").free / 1e9
        is_fit = free_gb >= NEEDED_SHARED_MEMORY_GB
        advice = "" if is_fit else "In Docker, start the container with --shm-size=2g."
        yield Finding("shared memory", f"{free_gb:.1f} GB free in /dev/shm", advice)


def check_loopback() -> Iterator[Finding]:
    """Ranks talk over 127.0.0.1: a firewall must not forbid it."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
        yield Finding("loopback", "127.0.0.1 can be reached")
    except OSError as error:
        yield Finding(
            "loopback", f"127.0.0.1 cannot be reached: {error}", "Allow local connections."
        )


def check_files() -> Iterator[Finding]:
    """How many files and sockets a process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    is_fit = hard == resource.RLIM_INFINITY or hard >= NEEDED_FILES
    advice = "" if is_fit else f"Raise it: `ulimit -Hn {NEEDED_FILES}`."
    yield Finding("open files", f"{soft}, can be raised to {'any' if hard < 0 else hard}", advice)


def check_gpus() -> Iterator[Finding]:
    """GPUs are welcome, and not needed."""
    if not backend.has_nvidia_driver():
        yield Finding("GPUs", "none; ranks run on the CPU with gloo")
        return
    for found, advice in gpus.describe(gpus.look()):
        yield Finding("GPUs", found, advice, is_needed=False)


def check_nccl() -> Iterator[Finding]:
    """Settings of NCCL in the environment: it says nothing of a misspelt one."""
    for line in nccl_settings.find_problems(nccl_settings.set_in_environment()):
        advice = "Correct or unset it; sandbox.explain_nccl() tells all."
        yield Finding("NCCL", line, advice, is_needed=False)


def check_ranks() -> Iterator[Finding]:
    """The thing itself: ranks add up a number, on the CPU and, where there are any, on all GPUs."""
    yield _try_ranks("gloo", 4)
    if backend.has_nvidia_driver() and (num_gpus := backend.count_gpus()):
        yield _try_ranks("nccl", num_gpus)


def _try_ranks(backend_name: str, world_size: int) -> Finding:
    import sandbox

    subject = f"{count_ranks(world_size)} on {backend_name}"
    is_needed = backend_name == "gloo"
    try:
        sandbox.launch(_sum_ranks, world_size=world_size, backend=backend_name)
        start_s = time.monotonic()
        run = sandbox.launch(_sum_ranks, world_size=world_size, backend=backend_name)
        took_s = time.monotonic() - start_s
    except (sandbox.SandboxError, OSError) as error:
        advice = "See the message above; the lines before may say why."
        return Finding(subject, str(error), advice, is_needed)
    expected = [float(sum(range(world_size)))] * world_size
    advice = "" if run.results == expected else f"Expected {expected}, got {run.results}."
    return Finding(subject, f"started, added up and ended in {took_s:.2f} s", advice, is_needed)


def _sum_ranks() -> float:
    import torch
    import torch.distributed as dist

    import sandbox

    total = torch.tensor(float(dist.get_rank()), device=sandbox.device())
    dist.all_reduce(total)
    return total.item()


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_python,
    check_packages,
    check_memory,
    check_disk,
    check_loopback,
    check_files,
    check_gpus,
    check_nccl,
    check_ranks,
)
