"""A Docker engine and Docker Compose, by their command lines. What tests make there bears NAME."""

import subprocess
import sys
import time
from pathlib import Path

DOCKER = Path(__file__).parents[1]
COMPOSE = Path(sys.executable).with_name("docker-compose")  # needs no engine to read a file
NAME = "shardlab-test"
IMAGE = "shardlab:cpu"
DEADLINE_S = 120


def run(*command: str | Path) -> str:
    """Return what the command prints, unless it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def docker(*arguments: str | Path) -> str:
    return run("docker", *arguments)


def compose(*arguments: str | Path) -> str:
    return run(COMPOSE, "--file", DOCKER / "compose.yaml", "--project-name", NAME, *arguments)


def until(*arguments: str | Path) -> str:
    """Return what docker prints, as soon as it succeeds."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return docker(*arguments)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def finish(container: str) -> str:
    """Return what the container printed, once it has ended well."""
    status = docker("wait", container).strip()
    output = docker("logs", container)
    assert status == "0", output
    return output
