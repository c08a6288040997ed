"""run.steps: what counts as a training step, whatever steps the weights."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn

import sandbox
from sandbox import Run


def numbers(run: Run) -> list[list[int]]:
    return [[number for number, _ in steps] for steps in run.steps]


def train(model: nn.Module, optimizer: torch.optim.Optimizer, num_steps: int) -> None:
    for _ in range(num_steps):
        for _ in range(2):  # gradients of two micro-batches: one step
            model(torch.ones(2, 7)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def make_model() -> nn.Sequential:
    model = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 3))
    model[0].weight.requires_grad_(False)
    return model


def train_plain(num_steps: int) -> None:
    model = make_model()
    train(model, torch.optim.SGD(model.parameters()), num_steps)


def train_fsdp2(num_steps: int) -> None:
    from torch.distributed.fsdp import fully_shard

    model = make_model()
    fully_shard(model)
    train(model, torch.optim.AdamW(model.parameters()), num_steps)


def train_fsdp1(num_steps: int) -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = FullyShardedDataParallel(
        make_model(), device_id=torch.device("cpu"), use_orig_params=True
    )
    train(model, torch.optim.AdamW(model.parameters()), num_steps)


def train_zero_redundancy(num_steps: int) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = nn.parallel.DistributedDataParallel(make_model())
    parameters = [p for p in model.parameters() if p.requires_grad]
    train(model, ZeroRedundancyOptimizer(parameters, torch.optim.SGD, lr=0.1), num_steps)


@pytest.mark.parametrize("world_size", [1, 3])
@pytest.mark.parametrize("train", [train_plain, train_fsdp1, train_fsdp2, train_zero_redundancy])
def test_each_optimizer_step_is_one_training_step(train, world_size: int) -> None:
    run = sandbox.launch(train, 3, world_size=world_size)
    assert numbers(run) == [[1, 2, 3]] * world_size


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_deepspeeds_steps_by_group_of_parameters_count_as_one(stage: int) -> None:
    def train_deepspeed() -> None:
        import deepspeed

        model = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 3))
        optimizer = torch.optim.AdamW([{"params": layer.parameters()} for layer in model])
        engine, *_ = deepspeed.initialize(
            model=model,
            optimizer=optimizer,
            config={
                "train_micro_batch_size_per_gpu": 2,
                "gradient_accumulation_steps": 2,
                "bf16": {"enabled": True},
                "zero_optimization": {"stage": stage, "sub_group_size": 20},
                "zero_allow_untested_optimizer": True,
                "zero_force_ds_cpu_optimizer": False,
            },
        )
        for _ in range(6):
            engine.backward(engine(torch.ones(2, 7, dtype=torch.bfloat16)).sum())
            engine.step()

    run = sandbox.launch(train_deepspeed, world_size=2, timeout_s=60)
    assert numbers(run) == [[1, 2, 3]] * 2


def test_of_several_optimizers_the_one_that_stepped_most_counts() -> None:
    def play() -> None:
        critic, actor = nn.Linear(2, 1), nn.Linear(2, 1)
        optimizers = [torch.optim.SGD(model.parameters()) for model in (critic, actor)]
        for turn in range(6):
            for model, optimizer in zip((critic, actor), optimizers, strict=True):
                if model is critic or turn % 3 == 0:
                    model(torch.ones(2)).sum().backward()
                    optimizer.step()

    assert numbers(sandbox.launch(play, world_size=1)) == [[1, 2, 3, 4, 5, 6]]


def test_a_step_that_raises_is_none() -> None:
    def fail_once() -> None:
        parameter = nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([parameter])

        def fail() -> None:
            raise ArithmeticError

        for closure in (None, fail, None):
            try:
                optimizer.step(closure)
            except ArithmeticError:
                continue

    assert numbers(sandbox.launch(fail_once, world_size=1)) == [[1, 2]]


def test_steps_end_after_the_collectives_of_their_gradients() -> None:
    def train_ddp_by_hand() -> None:
        parameter = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([parameter])
        for _ in range(3):
            parameter.grad = torch.ones(3)
            dist.all_reduce(parameter.grad)
            optimizer.step()

    run = sandbox.launch(train_ddp_by_hand, world_size=3)
    for rank in range(3):
        order = [(event.start_s, "all_reduce") for event in run.ledger.where(rank=rank)]
        order += [(time_s, "step") for _, time_s in run.steps[rank]]
        assert [what for _, what in sorted(order)] == ["all_reduce", "step"] * 3
        assert all(0 < time_s <= run.duration_s for time_s, _ in order)


def test_each_call_of_a_world_counts_from_1() -> None:
    with sandbox.World(2) as world:
        assert numbers(world.run(train_plain, 2)) == [[1, 2]] * 2
        assert numbers(world.run(train_plain, 3)) == [[1, 2, 3]] * 2
        assert numbers(world.run(print)) == [[], []]


def test_the_step_by_which_dcp_makes_optimizer_states_does_not_count() -> None:
    def load_and_train() -> int:
        from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
        from torch.distributed.fsdp import fully_shard

        model = make_model()
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
        states = get_optimizer_state_dict(model, optimizer)["state"]
        train(model, optimizer, 2)
        return len(states)

    run = sandbox.launch(load_and_train, world_size=2)
    assert run.results == [3, 3]  # of four parameters one is frozen
    assert numbers(run) == [[1, 2]] * 2
