"""On GPUs: doctor, memory, ledger, traces and optional libraries. Not run on a GPU so far."""

import json
import pickle

import gpu_programs
import pytest
import torch

import sandbox
from grader import twin
from sandbox import backend, doctor, gpus, optional

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]


def launch(program, *args, world_size):
    return sandbox.launch(program, *args, world_size=world_size, backend="nccl", timeout_s=120)


def test_doctor_sees_every_gpu_and_runs_a_rank_on_each(num_gpus):
    machine = gpus.look()
    assert machine.error == ""
    assert len(machine.gpus) == num_gpus
    assert [finding for finding in doctor.check_ranks() if finding.advice] == []


def test_launch_leaves_cuda_alone_in_this_process(num_gpus):
    launch(gpu_programs.train, world_size=1)
    assert num_gpus
    assert not torch.cuda.is_initialized()


def test_every_rank_has_a_gpu_of_its_own(num_gpus):
    def look():
        return torch.ones(1, device=sandbox.device()).device.index, torch.cuda.current_device()

    run = launch(look, world_size=num_gpus)
    assert run.backend == "nccl"
    assert run.results == [(rank, rank) for rank in range(num_gpus)]


def test_ray_and_deepspeed_do_not_touch_cuda_before_the_fork(num_gpus):
    def sum_ranks():
        import deepspeed
        import ray

        assert deepspeed
        assert ray
        total = torch.ones(1, device=sandbox.device())
        torch.distributed.all_reduce(total)
        return total.item()

    assert launch(sum_ranks, world_size=num_gpus).results == [float(num_gpus)] * num_gpus


def test_the_allocator_holds_what_the_formula_says(num_gpus):
    for world_size in range(1, num_gpus + 1):
        run = launch(gpu_programs.measure_states, world_size=world_size)
        assert gpu_programs.worst_gap(run.results) < 0.03, world_size


def test_the_ledger_is_that_of_gloo(num_gpus):
    for world_size in range(1, num_gpus + 1):
        ours = sandbox.launch(gpu_programs.train, world_size=world_size, backend="gloo")
        theirs = launch(gpu_programs.train, world_size=world_size)
        traffic = twin.traffic_of(ours.ledger), twin.traffic_of(theirs.ledger)
        assert list(twin.describe_differences(*traffic)) == []
        assert theirs.results == [pytest.approx(losses, rel=1e-3) for losses in ours.results]


def test_memory_of_a_run_tells_what_the_allocator_holds(num_gpus):
    run = sandbox.launch(gpu_programs.train, world_size=num_gpus, backend="nccl", memory=True)
    for rank in range(num_gpus):
        trained = run.memory.at("step", rank)
        assert trained.allocated_bytes > trained.bytes["parameters"] > 0


def test_a_trace_with_kernels_is_saved_by_every_rank(num_gpus, tmp_path):
    for path in launch(gpu_programs.save_trace, str(tmp_path), world_size=num_gpus).results:
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        kernels = {event["name"] for event in events if event.get("cat") == "kernel"}
        assert kernels
        assert num_gpus == 1 or any("nccl" in name.lower() for name in kernels)


def test_a_snapshot_of_the_allocator_is_saved_by_every_rank(num_gpus, tmp_path):
    for path in launch(gpu_programs.save_snapshot, str(tmp_path), world_size=num_gpus).results:
        with open(path, "rb") as file:
            snapshot = pickle.load(file)
        assert sum(segment["allocated_size"] for segment in snapshot["segments"]) > 0
        assert any(snapshot["device_traces"])


def test_settings_of_nccl_reach_it(num_gpus):
    with sandbox.nccl(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,ENV"):
        run = launch(gpu_programs.train, world_size=num_gpus)
    assert num_gpus == 1 or all("NCCL INFO" in text for text in run.output)


def _why_not(load):
    try:
        load()
    except sandbox.NotAvailableError as error:
        return str(error)
    return ""


def test_a_linear_layer_trains_in_fp8(num_gpus):
    missing = launch(_why_not, optional.load_fp8, world_size=1).results[0]
    if missing:
        pytest.skip(missing)  # optional: it says which package, or what GPU, there is not

    def losses():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(256, 256, bias=False)).to(sandbox.device())
        model = model.to(torch.bfloat16)
        x = torch.randn(64, 256, device=sandbox.device(), dtype=torch.bfloat16)
        exact = model(x).float().square().mean().item()
        optional.load_fp8().convert_to_float8_training(model)
        loss = model(x).float().square().mean()
        loss.backward()
        return exact, loss.item()

    for exact, in_fp8 in launch(losses, world_size=num_gpus).results:
        assert in_fp8 == pytest.approx(exact, rel=0.1)  # FP8 e4m3 has 3 bits after the leading one


def test_yafsdp_trains_as_fsdp2_does(num_gpus):
    missing = launch(_why_not, optional.load_yafsdp, world_size=1).results[0]
    if missing:
        pytest.skip(missing)  # optional: it says which package, or what GPU, there is not

    def train_with_yafsdp():
        fully_shard = optional.load_yafsdp().fully_shard
        model = gpu_programs.toys.Transformer(**gpu_programs.MODEL)
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
        tokens = gpu_programs.new_tokens()
        return [gpu_programs.step(model, optimizer, tokens) for _ in range(3)]

    expected = launch(gpu_programs.train, world_size=num_gpus).results
    came = launch(train_with_yafsdp, world_size=num_gpus).results
    assert came == [pytest.approx(losses, rel=1e-3) for losses in expected]


def test_more_ranks_than_gpus_are_refused_with_what_to_do(num_gpus):
    with pytest.raises(sandbox.LaunchError, match="one GPU per rank") as caught:
        launch(gpu_programs.train, world_size=num_gpus + 1)
    assert "backend='gloo'" in str(caught.value)
    assert backend.choose("auto", num_gpus + 1)[0] == "gloo"
