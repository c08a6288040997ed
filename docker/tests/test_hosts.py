"""Containers as hosts: README.md's torchrun pair, and the pods that KubeRay makes of kuberay.yaml.

The operator is not here. What it starts is written out below, from its source (ray-project/kuberay,
controllers/ray/common/pod.go and job.go), so that image and manifest are tried together.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from class_files import REFERENCE, hand_in, points
from docker_commands import IMAGE, NAME, docker, finish, until
from manifest import RAY_JOBS
from training_output import TOLERANCE, losses

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

JOBS = {each["metadata"]["name"]: each["spec"] for each in RAY_JOBS}
HEAD = f"{NAME}-head"
TOKEN = ["--env", "RAY_AUTH_MODE=token", "--env", "RAY_AUTH_TOKEN=0123456789abcdef"]  # authOptions
PORTS = "--block --dashboard-agent-listen-port=52365 --metrics-export-port=8080"
HEALTHY = "wget --tries 1 -T 10 -q -O- http://localhost:{} | grep success"
WORKER_IS_LIVE = HEALTHY.format("52365/api/local_raylet_healthz")
HEAD_IS_LIVE = f"{WORKER_IS_LIVE} && {HEALTHY.format('8265/api/gcs_healthz')}"
IS_LIVE = HEALTHY.format("52365/api/healthz")  # what newer operators ask, of Ray 2.53 and later
SUBMIT = """
if ! ray job status --address http://{head}:8265 it > /dev/null 2>&1
then ray job submit --address http://{head}:8265 --no-wait --submission-id it -- {entrypoint}
fi
ray job logs --address http://{head}:8265 --follow it
ray job status --address http://{head}:8265 it
"""


@pytest.fixture
def network() -> Iterator[str]:
    """A network, and a volume of the same name. The containers on it end with the test."""
    docker("network", "create", NAME)
    docker("volume", "create", NAME)
    yield NAME
    if left := docker("ps", "--all", "--quiet", "--filter", f"network={NAME}").split():
        docker("rm", "--force", "--volumes", *left)
    docker("volume", "rm", NAME)
    docker("network", "rm", NAME)


@pytest.fixture(scope="module")
def alone() -> dict[int, float]:
    """The losses of one process that has the whole batch."""
    command = ["torchrun", "--standalone", "--nproc-per-node", "1", "docker/train.py"]
    return losses(docker("run", "--rm", IMAGE, *command, "--num-epochs", "2"))


def test_two_hosts_by_torchrun_train_as_one_process_does(network: str, alone) -> None:
    names = [f"{NAME}-{rank}" for rank in range(2)]
    for rank, name in enumerate(names):
        host = ["--name", name, "--network", network, "--shm-size", "2g"]
        who = ["--nnodes", "2", "--node-rank", str(rank), "--master-addr", names[0]]
        command = ["torchrun", *who, "--nproc-per-node", "2", "docker/train.py"]
        docker("run", "--detach", *host, IMAGE, *command, "--num-epochs", "2")
    output = "".join(map(finish, names))
    assert "4 ranks on cpu" in output
    assert losses(output) == pytest.approx(alone, abs=TOLERANCE)


def start(name: str, network: str, group: dict[str, Any], command: str) -> None:
    """Start a pod of a group of kuberay.yaml. Its image is the cpu one, and so it has no GPU."""
    pod = group["template"]["spec"]
    container = pod["containers"][0]
    limits = container["resources"]["limits"]
    memory = int(limits["memory"].removesuffix("Gi")) * 1024**3
    flags = ["--user", str(pod["securityContext"]["runAsUser"]), "--memory", str(memory)]
    flags += ["--cap-drop", *container["securityContext"]["capabilities"]["drop"]]
    flags += ["--security-opt", "no-new-privileges", "--shm-size", "2g"]
    if "work" in [mount["name"] for mount in container["volumeMounts"]]:
        flags += ["--volume", f"{NAME}:/work"]
    resources = {"num-cpus": limits["cpu"], "memory": memory} | group["rayStartParams"]
    command += "".join(f" --{name}={value}" for name, value in resources.items())
    shell = ["--entrypoint", "/bin/bash", IMAGE, "-lc", f"ulimit -n 65536; {command} {PORTS}"]
    docker("run", "--detach", "--name", name, "--network", network, *TOKEN, *flags, *shell)


def aside(network: str, memory: str, command: str) -> list[str]:
    """Return the arguments that run a command in a small pod beside the cluster."""
    limits = ["--memory", memory, "--cpus", "1"]
    place = ["run", "--rm", "--network", network, *TOKEN, *limits, "--entrypoint", "/bin/bash"]
    return [*place, IMAGE, "-lc", command]


def run_job(network: str, spec: dict[str, Any], entrypoint: str, num_workers: int) -> str:
    """Run a RayJob's entrypoint on its cluster; return what the submitter prints."""
    cluster = spec["rayClusterSpec"]
    start(HEAD, network, cluster["headGroupSpec"], "ray start --head --dashboard-host=0.0.0.0")
    until(*aside(network, "256m", f"ray health-check --address {HEAD}:6379"))
    for i in range(num_workers):
        group = cluster["workerGroupSpecs"][0]
        start(f"{NAME}-worker-{i}", network, group, f"ray start --address={HEAD}:6379")
        until("exec", f"{NAME}-worker-{i}", "bash", "-c", WORKER_IS_LIVE)
    until("exec", HEAD, "bash", "-c", f"{HEAD_IS_LIVE} && {IS_LIVE}")
    return docker(*aside(network, "1g", SUBMIT.format(head=HEAD, entrypoint=entrypoint)))


def test_the_pods_of_the_training_job_train_as_one_process_does(network: str, alone) -> None:
    spec = JOBS["shardlab-train"]
    on_cpus = spec["entrypoint"].replace("--num-workers 4 --use-gpu", "--num-workers 2")
    output = run_job(network, spec, on_cpus, num_workers=2)
    assert "succeeded" in output.lower(), output
    assert "2 ranks on cpu" in output
    found = losses(output)
    assert {epoch: found[epoch] for epoch in alone} == pytest.approx(alone, abs=TOLERANCE)


def test_the_pods_of_the_grading_job_grade(network: str, tmp_path: Path) -> None:
    hand_in(tmp_path / "submitted", "reference", REFERENCE.read_bytes())
    hand_in(tmp_path / "submitted", "broken", b"\xff not a notebook")
    spec = JOBS["shardlab-grade"]
    filler = f"{NAME}-filler"
    docker("create", "--name", filler, "--network", network, "--volume", f"{NAME}:/work", IMAGE)
    docker("cp", tmp_path / "submitted", f"{filler}:/work/submitted")
    output = run_job(network, spec, spec["entrypoint"], num_workers=1)
    assert "succeeded" in output.lower(), output
    docker("cp", f"{HEAD}:/work/graded", tmp_path)
    assert points(tmp_path / "graded") == {"reference": 100, "broken": 0}
