"""SlowLink: work completes late, however it is waited for; issuing it takes no time."""

from __future__ import annotations

import time

import pytest
import torch
import torch.distributed as dist
from torch import nn

import sandbox
from sandbox import SlowLink, source

SECONDS = 0.4  # what one all_reduce of 3 ranks takes with the link below
LINK = SlowLink(bandwidth=1e12, latency=SECONDS / 4)


def all_reduce_three_times() -> list[tuple[bool, float]]:
    """Issue three at once; return, of each wait, whether it was complete before, and the sum."""
    tensors = [torch.full((5,), float(dist.get_rank() + number)) for number in range(3)]
    dist.barrier()
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    done = [(work.is_completed(), work.wait()) for work in works]
    assert all(work.is_completed() for work in works)
    return [(was, tensor.sum().item()) for (was, _), tensor in zip(done, tensors, strict=True)]


def test_operations_are_issued_at_once_and_delivered_one_after_the_other() -> None:
    run = sandbox.launch(all_reduce_three_times, world_size=3, faults=[LINK])
    sums = [15.0, 30.0, 45.0]
    assert run.results == [[(False, total) for total in sums]] * 3
    for rank in range(3):
        events = list(run.ledger.where(op="all_reduce", rank=rank))
        ends = [event.end_s for event in events]
        assert max(event.start_s for event in events) < ends[0]
        assert ends[0] - events[0].start_s >= SECONDS
        assert ends[1] - ends[0] >= SECONDS * 0.9  # the end is noted a moment after it is due
        assert ends[2] - events[0].start_s >= 3 * SECONDS


def test_computing_hides_the_transfer() -> None:
    def compute_meanwhile() -> tuple[float, bool]:
        work = dist.all_reduce(torch.ones(5), async_op=True)
        end_s = time.monotonic() + 3 * SECONDS
        while time.monotonic() < end_s:
            torch.ones(100).sum()
        was_complete = work.is_completed()
        work.wait()
        return was_complete

    assert sandbox.launch(compute_meanwhile, world_size=3, faults=[LINK]).results == [True] * 3


def in_all_reduce() -> object:
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    return tensor.tolist()


def in_reduce_scatter() -> object:
    output = torch.empty(2)
    dist.reduce_scatter_single(output, torch.ones(6))
    return output.tolist()


def in_reduce_scatter_of_lists() -> object:
    output = torch.empty(2)
    dist.reduce_scatter(output, [torch.ones(2) for _ in range(3)])
    return output.tolist()


def in_barrier() -> object:
    return dist.barrier(async_op=True).wait()


def in_messages() -> object:
    rank, tensor = dist.get_rank(), torch.empty(4)
    works = [dist.isend(torch.ones(4), (rank + 1) % 3), dist.irecv(tensor, (rank - 1) % 3)]
    for work in works:
        work.wait()
    return tensor.tolist()


def in_future() -> object:
    future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
    return future.then(lambda done: done.value()[0].tolist()).wait()


def in_functional_collective() -> object:
    from torch.distributed import _functional_collectives as functional

    return functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD).tolist()


def in_backward_of_ddp() -> object:
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 3))
    model(torch.full((2, 4), 1.0 + dist.get_rank())).sum().backward()
    return [parameter.grad.tolist() for parameter in model.parameters()]


def in_fsdp2() -> object:
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = nn.Linear(4, 5)
    fully_shard(model)
    model(torch.full((2, 4), 1.0 + dist.get_rank())).sum().backward()
    return [parameter.grad.full_tensor().tolist() for parameter in model.parameters()]


@pytest.mark.parametrize(
    "use",
    [
        in_all_reduce,
        in_reduce_scatter,
        in_reduce_scatter_of_lists,
        in_barrier,
        in_messages,
        in_future,
        in_functional_collective,
        in_backward_of_ddp,
        in_fsdp2,
    ],
)
def test_however_it_is_waited_for_it_is_late_and_right(use) -> None:
    def use_and_time() -> tuple[object, float]:
        start_s = time.monotonic()
        return use(), time.monotonic() - start_s

    fast = sandbox.launch(use_and_time, world_size=3)
    late = sandbox.launch(use_and_time, world_size=3, faults=[LINK])
    assert [value for value, _ in late.results] == [value for value, _ in fast.results]
    assert len(late.ledger) == len(fast.ledger) > 0
    least_s = LINK.latency * 0.99  # of one message, at least
    assert all(duration_s >= least_s for _, duration_s in late.results)
    assert all(e.end_s - e.start_s >= least_s for e in late.ledger if e.end_s is not None)


def test_only_rings_over_the_slow_link_are_late() -> None:
    def in_two_groups() -> None:
        groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        group = groups[dist.get_rank() // 2]
        dist.all_reduce(torch.ones(1), group=group)
        dist.all_reduce(torch.ones(1))

    between = SlowLink(1e12, latency=0.3, between=(1, 2))
    run = sandbox.launch(in_two_groups, world_size=4, faults=[between])
    whole = run.ledger.where(group=(0, 1, 2, 3))
    assert all(event.duration_s >= 6 * 0.3 * 0.99 for event in whole)
    for event in run.ledger.where(lambda event: len(event.group) == 2):
        assert event.duration_s < 6 * 0.3


def test_a_world_of_one_is_not_delayed_and_the_next_call_is_not_either() -> None:
    with sandbox.World(3) as world:
        late = world.run(in_all_reduce, faults=[SlowLink(1e12, latency=0.5)])
        assert min(event.duration_s for event in late.ledger) >= 2 * 0.99
        assert max(event.duration_s for event in world.run(in_all_reduce).ledger) < 2
        world.resize(1)
        alone = world.run(in_all_reduce, faults=[SlowLink(1.0, latency=5.0)])
        assert max(event.duration_s for event in alone.ledger) < 10


def test_a_deadlock_over_slow_links_is_still_proven() -> None:
    def leave_early() -> None:
        dist.all_reduce(torch.ones(1), async_op=True).wait()
        if dist.get_rank() != 1:
            dist.all_reduce(torch.ones(1))

    with pytest.raises(
        sandbox.DeadlockError, match="rank 1 never called collective #2, all_reduce"
    ):
        sandbox.launch(leave_early, world_size=3, faults=[LINK])


def test_a_rank_that_dies_ends_the_wait_of_the_others() -> None:
    def die_on_rank_1() -> None:
        import os

        dist.all_reduce(torch.ones(1))
        if dist.get_rank() == 1:
            os._exit(3)
        dist.all_reduce(torch.ones(1), async_op=True).wait()

    with pytest.raises(sandbox.RankDiedError, match="rank 1 exited with code 3"):
        sandbox.launch(die_on_rank_1, world_size=3, faults=[LINK])


def test_at_a_timeout_what_slow_links_still_carry_is_named() -> None:
    def wait_or_compute() -> None:
        x = torch.ones(10)
        if dist.get_rank() == 0:
            dist.all_reduce(x)
        else:
            work = dist.all_reduce(x, async_op=True)
            time.sleep(60)
            work.wait()

    slow = SlowLink(bandwidth=1.0, between=(1, 2))
    with pytest.raises(sandbox.RankTimeoutError) as caught:
        sandbox.launch(wait_or_compute, world_size=3, timeout_s=3, faults=[slow])
    text = caught.value.message
    first = wait_or_compute.__code__.co_firstlineno
    named = f"collective #1, all_reduce, of ranks 0-2 at {source.describe(__file__ + ':1')[:-8]}"
    assert f"rank 0: waiting for a slow link to deliver {named}, line {first + 3}" in text
    assert f"line {first + 6}; a slow link still carries {named}, line {first + 5}" in text


def test_an_operation_beside_the_slow_links_is_not_said_to_be_late() -> None:
    def wait_for_the_first() -> None:
        pair = dist.new_group([0, 1])
        if dist.get_rank() < 2:
            work = dist.all_reduce(torch.ones(1), group=pair, async_op=True)
            work.wait()
        time.sleep(60)

    slow = SlowLink(bandwidth=1.0, between=(1, 2))
    with pytest.raises(sandbox.RankTimeoutError) as caught:
        sandbox.launch(wait_for_the_first, world_size=3, timeout_s=3, faults=[slow])
    assert "slow link" not in caught.value.message
