"""train.py trains the same model however its ranks are started, and goes on where it stopped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from training_output import TOLERANCE, losses

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
DOCKER = Path(__file__).parents[1]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
# No GPU: the ranks outnumber them. RAY_ADDRESS: never a cluster that happens to run here.
ENVIRONMENT = os.environ | {
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "RAY_ADDRESS": "local",
    "GLOO_SOCKET_IFNAME": "lo",
}


def start(*command: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def alone() -> dict[int, float]:
    """The truth: one process that has the whole batch."""
    command = [*TORCHRUN, "--standalone", "--nproc-per-node", "1", DOCKER / "train.py"]
    return losses(finish(start(*command, "--num-epochs", "2")))


def test_two_hosts_of_two_ranks_train_as_one_process_does(alone, tmp_path: Path) -> None:
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", tmp_path / "meeting"]
    meeting += ["--nnodes", "2", "--rdzv-conf", "store_type=file"]  # no port to be taken meanwhile
    command = [*TORCHRUN, *meeting, "--nproc-per-node", "2", DOCKER / "train.py"]
    hosts = [start(*command, "--num-epochs", "2") for _ in range(2)]
    try:
        output = "".join(finish(host) for host in hosts)
    finally:
        for host in hosts:
            host.terminate()  # ends its ranks, should the other host have failed
            host.wait()
    assert "4 ranks on cpu" in output
    assert losses(output) == pytest.approx(alone, abs=TOLERANCE)


def test_ray_trains_alike_and_goes_on_from_the_last_epoch(alone, tmp_path: Path) -> None:
    command = [sys.executable, DOCKER / "train.py", "--num-workers", "2", "--storage", tmp_path]
    first = finish(start(*command, "--num-epochs", "1"))
    second = finish(start(*command, "--num-epochs", "2"))
    assert losses(first).keys() == {0}
    assert losses(second).keys() == {1}
    assert losses(first) | losses(second) == pytest.approx(alone, abs=TOLERANCE)
