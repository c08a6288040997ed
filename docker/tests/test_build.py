"""build.sh takes the first engine that works, and hands on what the environment says."""

import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[1] / "build.sh"
DEAD_DOCKER = '[ "$1" != info ]'  # a client whose daemon does not run


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with what the script itself needs, and no engine."""
    for name in ("bash", "dirname"):
        found = next(p for d in os.get_exec_path() if (p := Path(d, name)).exists())
        (tmp_path / name).symlink_to(found)
    return tmp_path


def add(tools: Path, engine: str, script: str = "true") -> None:
    path = tools / engine
    path.write_text(f'#!{tools}/bash\n{script} && echo {engine} "$@"\n', "utf-8")
    path.chmod(0o755)


def build(tools: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [tools / "bash", BUILD, *arguments]
    variables = {"PATH": str(tools)} | environment
    return subprocess.run(command, env=variables, capture_output=True, text=True)


def test_docker_builds_when_it_answers(tools: Path) -> None:
    for engine in ("docker", "podman", "buildah"):
        add(tools, engine)
    done = build(tools, "gpu", GPU_BASE="mine:1")
    expected = "docker build --file docker/Dockerfile --target gpu --tag shardlab:gpu"
    assert done.stdout == f"{expected} --build-arg GPU_BASE=mine:1 .\n"


@pytest.mark.parametrize("engine", ["podman", "buildah"])
def test_others_build_where_docker_s_daemon_does_not_run(tools: Path, engine: str) -> None:
    add(tools, "docker", DEAD_DOCKER)
    add(tools, engine)
    done = build(tools, "cpu", "--quiet")
    assert done.stdout.startswith(f"{engine} build --file docker/Dockerfile --target cpu ")
    assert done.stdout.endswith(" --format docker --quiet .\n")  # else the health check is lost


def test_without_an_engine_one_line_says_what_to_do(tools: Path) -> None:
    done = build(tools, "cpu")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no Docker that answers, no podman, no buildah" in done.stderr
