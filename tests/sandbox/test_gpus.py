"""GPUs in words: each thing that may be amiss has a line of its own, with what to do."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
import torch

from sandbox import gpus
from sandbox.gpus import Gpu, Machine

GB = 1_000_000_000
H100 = Gpu(name="NVIDIA H100", total_bytes=80 * GB, free_bytes=79 * GB, capability=(9, 0))
OLD = Gpu(name="Tesla V100", total_bytes=16 * GB, free_bytes=15 * GB, capability=(7, 0))
SLICE = Gpu(name="NVIDIA A100 MIG 1g.5gb", total_bytes=5 * GB, free_bytes=5 * GB, capability=(8, 0))
WHEEL = {"wheel_cuda": "13.0", "architectures": ("sm_75", "sm_80", "sm_90", "sm_120")}
BUSY = dataclasses.replace(H100, free_bytes=3 * GB)


def test_gpus_of_one_kind_are_one_line_and_nothing_is_amiss() -> None:
    line = "4 × NVIDIA H100 (80.0 GB, capability 9.0); torch for CUDA 13.0; NCCL for up to 4 ranks"
    assert list(gpus.describe(Machine(gpus=(H100,) * 4, **WHEEL))) == [(line, "")]


@pytest.mark.parametrize(
    ("machine", "said", "advice"),
    [
        (Machine(error="no driver"), "cannot be used: no driver", "nvidia-smi"),
        (Machine(), "torch is its CPU wheel", "TORCH_INDEX_URL"),
        (Machine(wheel_cuda="13.0"), "no GPU is visible", "CUDA_VISIBLE_DEVICES"),
        (
            Machine(gpus=(H100, BUSY), **WHEEL),
            "GPU 1 is busy: 3.00 GB of 80.0 GB are free",
            "`nvidia-smi` names the programs",
        ),
        (
            Machine(gpus=(H100, H100, H100), strangers=((0, 2), (1, 2)), **WHEEL),
            "no direct access to each other's memory: GPUs 0 and 2, 1 and 2",
            "right but slower",
        ),
        (Machine(gpus=(SLICE,), **WHEEL), "slices of a GPU (MIG)", "backend='gloo'"),
        (
            Machine(gpus=(OLD,), **WHEEL),
            "GPU 0 has capability 7.0; this torch has kernels for sm_75, sm_80, sm_90, sm_120",
            "Take a wheel of torch for this GPU",
        ),
    ],
)
def test_what_is_amiss_is_one_line_with_what_to_do(machine, said, advice) -> None:
    amiss = [(found, hint) for found, hint in gpus.describe(machine) if hint]
    assert len(amiss) == 1
    assert said in amiss[0][0]
    assert advice in amiss[0][1]


def test_mixed_kinds_are_counted_and_said() -> None:
    machine = Machine(gpus=(H100, OLD, H100), wheel_cuda="12.9", architectures=("compute_70",))
    (listed, _), (mixed, advice) = gpus.describe(machine)
    assert listed.startswith("2 × NVIDIA H100 (80.0 GB, capability 9.0), 1 × Tesla V100 (16.0 GB,")
    assert mixed == "they are of different kinds"
    assert "the slowest" in advice


def test_many_pairs_without_access_are_counted() -> None:
    pairs = tuple((i, j) for i in range(8) for j in range(i + 1, 8))
    found = [line for line, _ in gpus.describe(Machine(gpus=(H100,) * 8, strangers=pairs, **WHEEL))]
    assert found[-1].endswith("GPUs 0 and 1, 0 and 2, 0 and 3 and 25 more pairs")


@pytest.mark.parametrize(
    ("capability", "architectures", "runs"),
    [
        ((8, 6), ["sm_80"], True),  # the same major number
        ((8, 0), ["sm_86"], False),
        ((9, 0), ["sm_80", "sm_86"], False),
        ((9, 0), ["sm_80", "compute_80"], True),  # PTX is compiled for later ones
        ((10, 3), ["sm_100"], True),
        ((10, 3), ["sm_100a"], False),
        ((9, 0), ["sm_90a"], True),
        ((7, 5), ["compute_80"], False),
        ((9, 0), [], False),
    ],
)
def test_kernels_run_where_cuda_says_they_do(capability, architectures, runs) -> None:
    assert gpus.has_kernels(capability, architectures) is runs


class FakeCuda:
    """What the other process asks torch.cuda for, on a machine with two GPUs, one of them alone."""

    @staticmethod
    def device_count() -> int:
        return 2

    @staticmethod
    def get_arch_list() -> list[str]:
        return ["sm_90"]

    @staticmethod
    def can_device_access_peer(device: int, peer: int) -> bool:
        return device > peer

    @staticmethod
    def get_device_properties(index: int) -> object:
        return type("Properties", (), {"name": f"GPU {index}", "major": 9, "minor": 0})

    @staticmethod
    def mem_get_info(index: int) -> tuple[int, int]:
        return 70 * GB + index, 80 * GB


def test_what_the_other_process_prints_is_read_back(monkeypatch, capsys) -> None:
    monkeypatch.setattr(torch, "cuda", FakeCuda)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    gpus.main()
    done = subprocess.CompletedProcess([], 0, capsys.readouterr().out, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    machine = gpus.look()
    assert machine.gpus[1] == Gpu(
        name="GPU 1", total_bytes=80 * GB, free_bytes=70 * GB + 1, capability=(9, 0)
    )
    assert machine.strangers == ((0, 1),)
    assert (machine.wheel_cuda, machine.architectures) == ("13.0", ("sm_90",))


def test_why_the_other_process_failed_is_its_last_line(monkeypatch) -> None:
    stderr = "Traceback …\nRuntimeError: The NVIDIA driver on your system is too old\n"
    done = subprocess.CompletedProcess([], 1, "", stderr)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert gpus.look() == Machine(error="RuntimeError: The NVIDIA driver on your system is too old")


def test_looking_leaves_cuda_alone_in_this_process() -> None:
    code = "from sandbox import gpus; import sys; gpus.look(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
