"""Which backend ranks get, and what they are told of the machine; on GPUs that are made up."""

from __future__ import annotations

import os
import warnings

import pytest
import torch
from torch.distributed import distributed_c10d as c10d

import sandbox
from sandbox import backend


@pytest.fixture
def three_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "has_nvidia_driver", lambda: True)
    monkeypatch.setattr(backend, "count_gpus", lambda: 3)


@pytest.mark.usefixtures("three_gpus")
def test_auto_takes_the_gpus_while_there_is_one_per_rank() -> None:
    assert backend.choose("auto", 3) == ("nccl", None)
    assert backend.choose("gloo", 3) == ("gloo", None)
    said = "4 ranks, 3 GPUs: running on the CPU with gloo."
    assert backend.choose("auto", 4) == ("gloo", said)
    with pytest.raises(sandbox.LaunchError, match="one GPU per rank: 4 ranks, 3 GPUs"):
        backend.choose("nccl", 4)


@pytest.mark.usefixtures("three_gpus")
def test_a_world_on_gpus_does_not_grow_beyond_them() -> None:
    with sandbox.World(2) as world:
        world.resize(3)
        with pytest.raises(sandbox.LaunchError, match="one GPU per rank: 4 ranks, 3 GPUs"):
            world.resize(4)
        assert world.world_size == 3


@pytest.mark.usefixtures("three_gpus")
def test_on_cpu_auto_is_gloo_and_nccl_is_still_what_it_says() -> None:
    with backend.on_cpu():
        assert backend.choose("auto", 3) == ("gloo", None)
        assert backend.choose("nccl", 3) == ("nccl", None)
    assert backend.choose("auto", 3) == ("nccl", None)


def test_a_rank_on_the_cpu_finds_no_gpu_whatever_it_looks_with(monkeypatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")

    def look() -> tuple[str, bool, str]:
        return os.environ["CUDA_VISIBLE_DEVICES"], torch.cuda.is_available(), sandbox.device().type

    run = sandbox.launch(look, world_size=2)
    assert run.results == [("", False, "cpu")] * 2
    assert run.backend == "gloo"


def test_a_rank_on_a_gpu_is_told_its_number_and_what_deepspeed_uses(monkeypatch) -> None:
    environ = backend.rank_environment(2, 3, "nccl")
    assert "CUDA_VISIBLE_DEVICES" not in environ
    assert environ["DS_ACCELERATOR"] == "cuda"
    monkeypatch.setattr(os, "environ", environ)
    assert sandbox.device() == torch.device("cuda", 2)
    bound = []
    monkeypatch.setattr(torch.cuda, "set_device", bound.append)
    backend.use_device("nccl", 2)
    backend.use_device("gloo", 1)
    assert bound == [2]
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: bound.append("waited"))
    backend.finish_work()
    monkeypatch.setitem(environ, "SANDBOX_BACKEND", "gloo")
    backend.finish_work()
    assert bound == [2, "waited"]
    monkeypatch.setitem(environ, "SANDBOX_BACKEND", "nccl")
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 512)
    assert backend.allocated_bytes() == 512


def test_a_rank_is_not_warned_of_the_device_that_was_chosen_for_it() -> None:
    def barrier() -> None:  # as torch's own does on a GPU
        warnings.warn("barrier(): using the device under current context. You can", stacklevel=2)
        warnings.warn("another", stacklevel=1)

    [printed] = sandbox.launch(barrier, world_size=1).output
    assert "another" in printed
    assert "under current context" not in printed


def test_groups_on_gpus_are_aborted_as_their_kernels_may_never_end(monkeypatch) -> None:
    left: list[str] = []
    for name in ("_abort_process_group", "destroy_process_group"):
        monkeypatch.setattr(c10d, name, lambda name=name: left.append(name))
    for kind in ("nccl", "gloo"):
        monkeypatch.setattr(c10d, "get_backend", lambda kind=kind: kind)
        backend.leave_groups()
    assert left == ["_abort_process_group", "destroy_process_group"]


def test_the_warm_process_of_each_backend_is_told_where_it_runs() -> None:
    assert backend.warm_environment("gloo")["CUDA_VISIBLE_DEVICES"] == ""
    assert backend.warm_environment("nccl")["PYTORCH_NVML_BASED_CUDA_CHECK"] == "1"
    assert backend.warm_environment("nccl")["DS_ACCELERATOR"] == "cuda"
