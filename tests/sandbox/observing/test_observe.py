"""Every library's collectives are in the ledger, whoever made the group."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

import sandbox
from sandbox import Op

DIM = 6  # not divisible by 4: shards are padded
NUM_BLOCKS = 3
NUM_STEPS = 2


class Net(nn.Module):
    """Blocks, and a head that belongs to the root unit."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList(nn.Linear(DIM, DIM, bias=False) for _ in range(NUM_BLOCKS))
        self.head = nn.Linear(DIM, 3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x).relu()
        return self.head(x)


def train(model: nn.Module, parameters: Any = None) -> None:
    optimizer = torch.optim.AdamW(parameters or model.parameters())
    for _ in range(NUM_STEPS):
        model(torch.ones(2, DIM)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def train_fsdp2(mesh_shape: tuple[int, ...] | None) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    names = ("replicate", "shard")
    mesh = init_device_mesh("cpu", mesh_shape, mesh_dim_names=names) if mesh_shape else None
    model = Net()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    train(fully_shard(model, mesh=mesh))


def padded_numel(world_size: int, rows: int) -> int:
    return math.ceil(rows / world_size) * world_size * DIM


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_fsdp2(world_size: int) -> None:
    ledger = sandbox.launch(train_fsdp2, None, world_size=world_size).ledger
    if world_size == 1:
        assert len(ledger) == 0
        return
    root = padded_numel(world_size, 3)
    blocks = NUM_BLOCKS * padded_numel(world_size, DIM)
    for rank in range(world_size):
        # Forward gathers the root and each block; backward each block again, the root being kept.
        assert ledger.count(Op.ALL_GATHER, rank) == NUM_STEPS * (2 * NUM_BLOCKS + 1)
        assert ledger.count(Op.REDUCE_SCATTER, rank) == NUM_STEPS * (NUM_BLOCKS + 1)
        assert len(ledger.where(rank=rank)) == NUM_STEPS * (3 * NUM_BLOCKS + 2)
        # (2 Psi_root + 3 Psi_blocks) (N - 1) / N elements; ZeRO, sec. 7, with the root kept.
        expected = NUM_STEPS * 4 * (2 * root + 3 * blocks) * (world_size - 1) / world_size
        assert ledger.sent_bytes(rank) == expected
    assert {event.reduce_op for event in ledger.where(op=Op.REDUCE_SCATTER)} == {"AVG"}
    lines = {Path(e.call_site.rpartition(":")[0]).name for e in ledger if e.call_site}
    assert lines == {Path(__file__).name}
    assert all(event.end_s is not None and event.end_s >= event.start_s for event in ledger)


def test_fsdp2_on_a_2d_mesh() -> None:
    ledger = sandbox.launch(train_fsdp2, (2, 2), world_size=4).ledger
    assert {event.group for event in ledger.where(op=Op.ALL_GATHER)} == {(0, 1), (2, 3)}
    assert {event.group for event in ledger.where(op=Op.REDUCE_SCATTER)} == {(0, 1), (2, 3)}
    assert {event.group for event in ledger.where(op=Op.ALL_REDUCE)} == {(0, 2), (1, 3)}
    assert ledger.count(Op.ALL_REDUCE) == NUM_STEPS * (NUM_BLOCKS + 1)


def train_fsdp1() -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    policy = ModuleWrapPolicy({nn.Linear})
    train(FullyShardedDataParallel(Net(), auto_wrap_policy=policy, device_id=torch.device("cpu")))


@pytest.mark.parametrize("world_size", [2, 3, 4])
def test_fsdp1(world_size: int) -> None:
    ledger = sandbox.launch(train_fsdp1, world_size=world_size).ledger
    units = NUM_BLOCKS + 1  # every Linear; the root itself holds nothing
    assert ledger.count(Op.REDUCE_SCATTER) == NUM_STEPS * units
    # Forward gathers every unit, backward all again (the last one's kept shards are gathered too).
    assert ledger.count(Op.ALL_GATHER) == NUM_STEPS * 2 * units


def train_ddp() -> None:
    train(nn.parallel.DistributedDataParallel(Net()))


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_ddp(world_size: int) -> None:
    ledger = sandbox.launch(train_ddp, world_size=world_size).ledger
    numel = NUM_BLOCKS * DIM * DIM + 3 * DIM
    buckets = ledger.where(op=Op.ALL_REDUCE, rank=0)
    assert sum(event.numel for event in buckets) == NUM_STEPS * numel
    # 2 Psi (N - 1) / N; Patarasuk and Yuan 2009.
    ring = NUM_STEPS * 2 * numel * 4 * (world_size - 1) / world_size
    assert buckets.sent_bytes(0) == pytest.approx(ring, rel=1e-12)
    assert all(event.is_async and event.end_s is not None for event in buckets)


def train_tensor_parallel() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    mlp = nn.Sequential(nn.Linear(DIM, 12), nn.ReLU(), nn.Linear(12, DIM))
    parallelize_module(mlp, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    mlp(torch.ones(2, DIM)).sum().backward()


@pytest.mark.parametrize("world_size", [2, 3, 4])
def test_tensor_parallel(world_size: int) -> None:
    ledger = sandbox.launch(train_tensor_parallel, world_size=world_size).ledger
    (output,) = ledger.where(op=Op.ALL_REDUCE, rank=0)  # the row-parallel layer's partial sums
    assert (output.numel, output.reduce_op) == (2 * DIM, "SUM")


def train_deepspeed(stage: int) -> None:
    import deepspeed

    model = Net()
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": stage},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
    }
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=config
    )
    for _ in range(NUM_STEPS):
        engine.backward(engine(torch.ones(2, DIM, dtype=torch.bfloat16)).sum())
        engine.step()


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("world_size", [2, 4])
def test_deepspeed(stage: int, world_size: int) -> None:
    ledger = sandbox.launch(train_deepspeed, stage, world_size=world_size).ledger
    numel = NUM_BLOCKS * DIM * DIM + 3 * DIM
    large = ledger.where(lambda event: event.numel >= numel, rank=0)
    if stage == 3:
        assert ledger.count(Op.ALL_GATHER) >= NUM_STEPS * (NUM_BLOCKS + 1)
        assert ledger.count(Op.REDUCE_SCATTER) == NUM_STEPS
    else:
        # As measured: stages 1 and 2 reduce the one bucket whole, then gather the parameters.
        assert large.count(Op.ALL_REDUCE) == NUM_STEPS
        assert large.count(Op.ALL_GATHER) == NUM_STEPS


def save_and_load(path: str) -> bool:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.fsdp import fully_shard

    model = fully_shard(Net())
    dcp.save({"model": model.state_dict()}, checkpoint_id=path)
    dcp.async_save({"model": model.state_dict()}, checkpoint_id=f"{path}-async").result()
    state = {"model": fully_shard(Net()).state_dict()}
    dcp.load(state, checkpoint_id=f"{path}-async")
    pairs = zip(state["model"].values(), model.state_dict().values(), strict=True)
    return all(torch.equal(a.to_local(), b.to_local()) for a, b in pairs)


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_distributed_checkpoints(world_size: int, tmp_path: Path) -> None:
    run = sandbox.launch(save_and_load, str(tmp_path / "saved"), world_size=world_size)
    assert run.results == [True] * world_size
    assert run.ledger.count(Op.GATHER) > 0
    assert run.ledger.count(Op.SCATTER) > 0


def train_with_ray() -> str:
    from ray.train import ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    trainer = TorchTrainer(
        lambda _: dist.all_reduce(torch.ones(2)),
        train_loop_config={},
        scaling_config=ScalingConfig(num_workers=0),
        torch_config=TorchConfig(backend="gloo"),
    )
    trainer.fit()
    return "done"


def test_ray_trains_local_mode() -> None:
    run = sandbox.launch(train_with_ray, world_size=2, init_process_group=False)
    assert run.results == ["done", "done"]
    assert run.ledger.count(Op.ALL_REDUCE, rank=1) == 1


def make_my_own_group(*args: Any) -> str:
    dist.init_process_group(*args)
    dist.all_reduce(torch.ones(2))
    return dist.get_backend()


@pytest.mark.parametrize("args", [("gloo",), ("gloo", "env://"), ("cpu:gloo",)])
def test_the_learners_own_default_group(args: tuple) -> None:
    run = sandbox.launch(make_my_own_group, *args, world_size=2, init_process_group=False)
    assert run.results == [args[0]] * 2
    assert run.ledger.count(Op.ALL_REDUCE, rank=1) == 1


def initialize_again(**kwargs: Any) -> None:
    dist.init_process_group("gloo")
    dist.init_process_group(**kwargs)


def test_a_matching_second_init_is_accepted_with_one_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sandbox.launch(lambda: initialize_again(backend="gloo", world_size=2), world_size=2)
    assert capsys.readouterr().out.count("the default group exists already") == 1


@pytest.mark.parametrize("wrong", [{"backend": "nccl"}, {"world_size": 3}, {"rank": 7}])
def test_a_second_init_that_does_not_match_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(sandbox.RankError, match="the default group exists already") as caught:
        sandbox.launch(lambda: initialize_again(**wrong), world_size=2)
    assert caught.value.exc_type == "ValueError"


def test_a_group_may_be_destroyed_and_made_again() -> None:
    def make_twice() -> None:
        dist.all_reduce(torch.ones(2))
        dist.destroy_process_group()
        dist.init_process_group("gloo")
        dist.all_reduce(torch.ones(2))

    assert sandbox.launch(make_twice, world_size=3).ledger.count(Op.ALL_REDUCE) == 2


def test_a_forked_child_publishes_nothing() -> None:
    def fork_a_child() -> int:
        if (pid := os.fork()) == 0:
            dist.all_reduce(torch.ones(2), async_op=True)
            os._exit(3)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    run = sandbox.launch(fork_a_child, world_size=1)
    assert run.results == [3]
    assert len(run.ledger) == 0
