"""Kill: the rank dies at the step or the collective that was named, and nowhere else."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn

import sandbox
from sandbox import Collective, Kill, RankDiedError, Step


def train_fsdp2(num_steps: int) -> None:
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 3))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(num_steps):
        model(torch.ones(2, 7)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def run_until_death(fn, *args, world_size: int, kill: Kill) -> sandbox.Run:
    with pytest.raises(RankDiedError) as error:
        sandbox.launch(fn, *args, world_size=world_size, faults=[kill])
    assert error.value.rank == kill.rank
    assert f"rank {kill.rank} was killed by SIGKILL" in error.value.message
    assert f"Injected: {kill!r}." in error.value.message
    assert "out of memory" not in error.value.message  # no guess beside what is known
    assert [(each.fault, each.rank) for each in error.value.run.faults] == [(kill, kill.rank)]
    run = error.value.run
    assert run is not None
    last = list(run.ledger.where(rank=kill.rank))[-1:]
    assert [error.value.site] == ([event.call_site for event in last] or [None])
    assert ("Its last operation: " in error.value.message) == bool(last)
    return error.value.run


def count(run: sandbox.Run, rank: int) -> int:
    return len(run.ledger.where(rank=rank))


@pytest.mark.parametrize("world_size", [1, 3])
@pytest.mark.parametrize("number", [1, 3])
def test_at_a_step_the_rank_has_made_one_less(world_size: int, number: int) -> None:
    whole = sandbox.launch(train_fsdp2, 4, world_size=world_size)
    kill = Kill(rank=world_size - 1, at=Step(number))
    for _ in range(2):
        run = run_until_death(train_fsdp2, 4, world_size=world_size, kill=kill)
        assert [n for n, _ in run.steps[kill.rank]] == list(range(1, number))
        # Every step issues the same collectives, and those of this one were all before its update.
        assert count(run, kill.rank) == count(whole, kill.rank) * number / 4


@pytest.mark.parametrize("number", [1, 5, 12])
def test_at_a_collective_the_rank_has_issued_one_less(number: int) -> None:
    kill = Kill(rank=1, at=Collective(number))
    for _ in range(2):
        run = run_until_death(train_fsdp2, 4, world_size=3, kill=kill)
        assert count(run, 1) == number - 1


def test_messages_count_as_collectives_and_the_making_of_groups_does_not() -> None:
    def talk() -> None:
        group = dist.new_group([0, 1])
        for _ in range(3):
            if dist.get_rank() == 0:
                dist.send(torch.ones(1), 1)
            if dist.get_rank() == 1:
                dist.recv(torch.ones(1), 0)
        if dist.get_rank() < 2:
            dist.barrier(group)

    run = run_until_death(talk, world_size=3, kill=Kill(rank=0, at=Collective(3)))
    assert [event.op.value for event in run.ledger.where(rank=0)] == ["send", "send"]


def test_a_world_of_one_dies_at_its_collective() -> None:
    def reduce_alone() -> None:
        for _ in range(3):
            dist.all_reduce(torch.ones(2))

    run = run_until_death(reduce_alone, world_size=1, kill=Kill(rank=0, at=Collective(2)))
    assert count(run, 0) == 1


def test_in_a_world_the_fault_is_of_one_call_and_counts_from_1() -> None:
    with sandbox.World(3) as world:
        world.run(train_fsdp2, 3)
        with pytest.raises(RankDiedError, match="(?s)Injected: .*variables: rank 2"):
            world.run(train_fsdp2, 3, faults=[Kill(rank=2, at=Step(2))])
        assert [[n for n, _ in steps] for steps in world.run(train_fsdp2, 3).steps] == [
            [1, 2, 3]
        ] * 3


def test_who_was_not_killed_by_a_fault_may_have_run_out_of_memory() -> None:
    def die_by_oneself() -> None:
        import os
        import signal

        if dist.get_rank() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()

    with pytest.raises(RankDiedError, match="out of memory"):
        sandbox.launch(die_by_oneself, world_size=2, faults=[Kill(rank=1, at=Step(9))])


def test_the_earlier_of_two_faults_happens() -> None:
    faults = [Kill(rank=2, at=Step(3)), Kill(rank=0, at=Step(1))]
    with pytest.raises(RankDiedError) as error:
        sandbox.launch(train_fsdp2, 4, world_size=3, faults=faults)
    assert error.value.rank == 0
    assert f"Injected: {faults[1]!r}." in error.value.message
