"""compose.yaml, as Docker Compose itself reads it: on this machine alone, contained, no secrets."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from docker_commands import COMPOSE, DOCKER

SERVICES = ("cpu", "gpu", "grade")
LABS = ("cpu", "gpu")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [COMPOSE, "--file", DOCKER / "compose.yaml", *arguments]
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(command, env=kept | environment, capture_output=True, text=True)


@cache
def services(**environment: str) -> dict[str, Any]:
    """Return each service as Compose understands it."""
    done = run("--profile", "*", "config", "--format", "json", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["services"]


def test_each_profile_starts_its_own_service_and_none_starts_nothing() -> None:
    assert services().keys() == set(SERVICES)
    for name in SERVICES:
        assert run("--profile", name, "config", "--services").stdout.split() == [name]
    assert run("config", "--services").stdout.split() == []


@pytest.mark.parametrize("name", LABS)
def test_jupyterlab_is_on_this_machine_alone_with_a_token(name: str) -> None:
    (port,) = services()[name]["ports"]
    assert (port["host_ip"], port["published"], port["target"]) == ("127.0.0.1", "8888", 8888)
    chosen = services(JUPYTER_TOKEN="chosen", PORT="9999")[name]
    assert chosen["environment"] == {"JUPYTER_TOKEN": "chosen"}
    assert chosen["ports"][0]["published"] == "9999"
    assert services()[name]["environment"] == {"JUPYTER_TOKEN": ""}  # JupyterLab then makes one


@pytest.mark.parametrize("name", SERVICES)
def test_service_can_write_to_its_volume_and_nowhere_else(name: str) -> None:
    service = services()[name]
    assert service["read_only"]
    kept = [(each["type"], each["target"]) for each in service.get("volumes", [])]
    # What strangers' submissions leave goes with their container.
    assert kept == ([] if name == "grade" else [("volume", "/work")])
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "user" not in service  # the image's, who is not root
    assert not service.get("privileged")


@pytest.mark.parametrize("name", SERVICES)
def test_service_has_the_limits_that_ranks_need(name: str) -> None:
    service = services()[name]
    assert int(service["shm_size"]) >= 2 * 1024**3  # twice what the doctor asks for
    assert service["ulimits"]["nofile"] >= 1024
    # Without root's rights an engine may not lift the limit of locked memory: only NCCL needs it.
    assert service["ulimits"].get("memlock") == (-1 if name == "gpu" else None)
    assert service["pids_limit"] >= 1024


def test_gpus_are_reserved_by_the_gpu_service_alone() -> None:
    reservation = services()["gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert reservation == [{"capabilities": ["gpu"], "count": -1, "driver": "nvidia"}]
    assert all("deploy" not in services()[name] for name in ("cpu", "grade"))


def test_submissions_are_graded_without_a_network() -> None:
    assert services()["grade"]["network_mode"] == "none"
    assert "ports" not in services()["grade"]


@pytest.mark.parametrize("name", LABS)
def test_images_are_those_that_make_image_builds(name: str) -> None:
    service = services()[name]
    assert service["image"] == f"shardlab:{name}"
    assert service["build"]["target"] == name
    assert Path(service["build"]["context"], service["build"]["dockerfile"]).is_file()


def test_a_misspelt_key_is_refused(tmp_path: Path) -> None:
    read = yaml.safe_load((DOCKER / "compose.yaml").read_text("utf-8"))
    read["services"]["cpu"]["shm-size"] = "2gb"
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump(read), "utf-8")
    done = run("--file", str(tmp_path / "compose.yaml"), "config")
    assert done.returncode != 0
    assert "shm-size" in done.stderr
