"""`docker compose up`: healthy, with a token, on this machine alone; a class graded, no network."""

import re
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from class_files import REFERENCE, hand_in, points
from docker_commands import COMPOSE, DOCKER, NAME, compose

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

TOKEN = "chosen"
CONTAINED = """
import os, pathlib, resource, subprocess, tempfile
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, status["CapEff"]
assert status["NoNewPrivs"] == "1"
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (16384, 16384)
shm = os.statvfs("/dev/shm")
assert shm.f_blocks * shm.f_frsize == 2 * 1024**3
program = pathlib.Path(tempfile.mkdtemp(), "program")  # as torch.compile makes them
program.write_text("#!/bin/sh\\necho ran")
program.chmod(0o700)
assert subprocess.check_output([program]) == b"ran\\n"
refused = []
for path in ("/opt/shardlab/new", "/opt/venv/new", "/etc/new", "/new"):
    try:
        pathlib.Path(path).touch()
    except OSError as error:
        refused.append(error.strerror)
assert refused == ["Read-only file system"] * 4, refused
"""


def up() -> None:
    compose("--profile", "cpu", "up", "--detach", "--wait")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a healthy JupyterLab on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PORT", str(port))
        environment.setenv("JUPYTER_TOKEN", TOKEN)
        try:
            up()
            yield port
        finally:
            compose("--profile", "cpu", "down", "--volumes")


def contents(port: int, **headers: str) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/contents", headers=headers)
    return urllib.request.urlopen(request, timeout=60).read()


def test_jupyterlab_shows_its_files_for_the_token_alone(port: int) -> None:
    with pytest.raises(urllib.error.HTTPError, match="403"):
        contents(port)
    assert b'"fsdp01.ipynb"' in contents(port, Authorization=f"token {TOKEN}")


def test_only_this_machine_reaches_the_page(port: int) -> None:
    found = [each for card in psutil.net_if_addrs().values() for each in card]
    others = {each.address for each in found if each.family == socket.AF_INET} - {"127.0.0.1"}
    assert others  # Docker's bridge at least
    for address in others:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, port), timeout=10)


def test_doctor_passes(port: int) -> None:
    compose("exec", "-T", "cpu", "python", "-m", "sandbox", "doctor")


@pytest.mark.parametrize("user", ["1000", "0"])
def test_code_and_system_are_read_only_and_nobody_has_a_capability(port: int, user: str) -> None:
    assert compose("exec", "-T", "cpu", "id", "--user").strip() == "1000"
    compose("exec", "-T", "--user", user, "cpu", "python", "-c", CONTAINED)


def test_work_outlives_the_container(port: int) -> None:
    compose("exec", "-T", "cpu", "sh", "-c", "echo mine > /work/learn/note.txt")
    compose("--profile", "cpu", "down")
    up()
    assert compose("exec", "-T", "cpu", "cat", "/work/learn/note.txt") == "mine\n"


def page_s_block(has: str) -> str:
    """Return README.md's block of commands that has that line, for the Compose of these tests."""
    page = (DOCKER / "README.md").read_text("utf-8")
    (block,) = [each for each in re.findall(r"(?:^    .*\n)+", page, re.M) if has in each]
    ours = f"{COMPOSE} --file {DOCKER}/compose.yaml --project-name {NAME}"
    return block.replace("docker compose --file docker/compose.yaml", ours)


@pytest.mark.parametrize("has", ["grade_class.py fsdp01 /submitted - | tar -x\n", "for folder in"])
def test_the_page_s_commands_grade_a_class(tmp_path: Path, has: str) -> None:
    hand_in(tmp_path / "submitted", "reference", REFERENCE.read_bytes())
    hand_in(tmp_path / "submitted", "an empty one", b"{}")
    done = subprocess.run(["bash", "-c", page_s_block(has)], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    graded = tmp_path if "for" in has else tmp_path / "graded"
    assert points(graded) == {"reference": 100, "an empty one": 0}


def test_grading_has_no_network_and_leaves_nothing_behind() -> None:
    compose("run", "--rm", "-T", "grade", "sh", "-c", '[ "$(ls /sys/class/net)" = lo ]')
    compose("run", "--rm", "-T", "grade", "touch", "/work/left")
    compose("run", "--rm", "-T", "grade", "sh", "-c", "! test -e /work/left")
