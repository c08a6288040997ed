"""What the tests on GPUs have ranks do, tried on gloo; and what those tests say without a GPU."""

import json

import fake_gpus
import gpu_programs
import pytest
import test_checks
import test_nccl
import torch
import torch.distributed as dist

import sandbox
from grader import twin
from grader.fsdp01.measure import run_steps
from grader.fsdp04 import async_watch
from sandbox import backend


@pytest.mark.parametrize("world_size", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_the_formulas_states_are_those_of_the_live_tensors(world_size):
    count = gpu_programs.live_bytes
    run = sandbox.launch(gpu_programs.measure_states, count, world_size=world_size)
    assert gpu_programs.worst_gap(run.results) < 0.02
    doubled = [(num_params, 2 * held, added) for num_params, held, added in run.results]
    assert gpu_programs.worst_gap(doubled) > 0.9


def test_two_runs_of_the_same_program_have_the_same_traffic():
    runs = [sandbox.launch(gpu_programs.train, world_size=2) for _ in range(2)]
    first, second = (twin.traffic_of(run.ledger) for run in runs)
    assert first
    assert list(twin.describe_differences(first, second)) == []


def test_a_trace_is_saved_by_every_rank(tmp_path):
    run = sandbox.launch(gpu_programs.save_trace, str(tmp_path), world_size=2)
    for path in run.results:
        with open(path) as file:
            names = {event.get("name") for event in json.load(file)["traceEvents"]}
        assert "aten::mm" in names


def test_a_model_to_measure_is_on_the_ranks_device(monkeypatch):
    """DistributedDataParallel takes it where it is, and NCCL takes no tensor of the CPU."""
    monkeypatch.setattr(sandbox, "device", lambda: torch.device("meta"))
    monkeypatch.setattr(sandbox, "mark", lambda name: None)
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    monkeypatch.setitem(run_steps.__globals__, "new_mesh", lambda: None)
    seen = []

    def prepare(model, mesh):
        seen.extend(weight.device.type for weight in model.parameters())
        return model

    run_steps([prepare], {})
    assert set(seen) == {"meta"}


def test_a_vote_is_on_the_ranks_device(monkeypatch):
    class Reduced(Exception):
        """Raised when: the tensor was sent."""

    def reduce(votes, op):
        raise Reduced(votes.device.type)

    monkeypatch.setattr(sandbox, "device", lambda: torch.device("meta"))
    monkeypatch.setattr(dist, "all_reduce", reduce)
    with pytest.raises(Reduced, match="meta"):
        async_watch._all_agree(True)


def test_without_a_gpu_the_tests_that_need_one_end_in_one_line(monkeypatch):
    monkeypatch.setattr(backend, "has_nvidia_driver", lambda: False)
    with pytest.raises(pytest.exit.Exception, match="tests need a GPU, and there is none"):
        gpu_programs.count_or_stop()


@pytest.mark.parametrize(
    "test",
    [
        test_nccl.test_the_ledger_is_that_of_gloo,
        test_nccl.test_more_ranks_than_gpus_are_refused_with_what_to_do,
        test_nccl.test_ray_and_deepspeed_do_not_touch_cuda_before_the_fork,
    ],
)
def test_a_test_on_gpus_passes_on_a_stand_in(monkeypatch, test):
    fake_gpus.pretend(monkeypatch, 2)
    test(2)


@pytest.mark.slow
def test_a_check_is_compared_on_a_stand_in_and_a_mutant_named(monkeypatch):
    fake_gpus.pretend(monkeypatch, 3)
    test_checks.test_the_reference_answer_passes_with_the_ledger_of_gloo("fsdp01", "build", 3)
    test_checks.test_a_mutant_is_named_as_on_gloo("fsdp01", "root_only")
