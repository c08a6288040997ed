"""What GPUs wait for while their ranks go on; on gloo, with a group that acts as NCCL's."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox import Op

NEVER_S = 60.0  # more than a launch takes, before which it is ended


class ActsAsNccl:
    """Starts a synchronous operation, does not wait for it, and gives no handle."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.is_formed = True
        self.refusal = ""
        self.works: list[dist.Work] = []

    def __getattr__(self, name: str) -> Any:
        operate = getattr(self._inner, name)

        def act(*args: Any, **kwargs: Any) -> Any:
            if self.refusal:
                raise RuntimeError(self.refusal)
            if not self.is_formed:
                time.sleep(NEVER_S)  # in C++, for the others to form a communicator
            work = operate(*args, **kwargs)
            [*_, options] = (*args, *kwargs.values())
            self.works.append(work)
            return work if options.asyncOp else None

        return act


def act_as_nccl() -> ActsAsNccl:
    """Let the default group of this rank do so."""
    group: Any = dist.group.WORLD
    group._inner = ActsAsNccl(group._inner)
    group._backends = {"cpu": dist.ProcessGroup.BackendType.NCCL}
    return group._inner


def test_an_operation_without_a_handle_is_recorded_and_over() -> None:
    def reduce_twice() -> list[float]:
        nccl, group, ones = act_as_nccl(), dist.group.WORLD, torch.ones(2)
        dist.all_reduce(ones)
        dist.barrier()
        handle = group.allreduce([torch.ones(1)], options := dist.AllreduceOptions())
        assert options.asyncOp
        handle.wait()
        options.asyncOp = False
        handle = group.allreduce([torch.ones(1)], options)  # what C++ calls, and then waits for
        assert handle.wait()
        assert handle.is_completed()
        for work in nccl.works:
            work.wait()
        return ones.tolist()

    run = sandbox.launch(reduce_twice, world_size=2)
    assert run.results == [[2.0, 2.0]] * 2
    events = list(run.ledger.where(rank=0))
    asked = [(Op.ALL_REDUCE, False), (Op.BARRIER, False), (Op.ALL_REDUCE, True)]
    assert [(e.op, e.is_async) for e in events] == [*asked, (Op.ALL_REDUCE, False)]
    ends = [event.end_s for event in events]
    assert None not in ends
    assert ends == sorted(ends)


def test_a_gpu_that_waits_for_a_rank_that_has_finished_is_a_deadlock() -> None:
    def forget() -> None:
        act_as_nccl()
        if dist.get_rank() != 1:
            dist.all_reduce(torch.ones(2))
            time.sleep(NEVER_S)  # in C++, for a result of the GPU

    with pytest.raises(sandbox.DeadlockError, match="all_reduce") as caught:
        sandbox.launch(forget, world_size=3, timeout_s=30)
    assert caught.value.rank == 1
    assert {wait.rank for wait in caught.value.waits} == {0, 2}


def test_a_rank_that_waits_for_others_to_form_a_communicator_is_blocked() -> None:
    def forget() -> None:
        act_as_nccl().is_formed = False
        if dist.get_rank() == 1:
            dist.all_reduce(torch.ones(2), async_op=True)

    with pytest.raises(sandbox.DeadlockError, match="rank 0 never called") as caught:
        sandbox.launch(forget, world_size=2, timeout_s=30)
    assert {wait.rank for wait in caught.value.waits} == {1}


def test_ranks_whose_gpus_wait_may_still_issue_what_others_wait_for() -> None:
    def meet_crosswise() -> None:
        act_as_nccl()
        beside = dist.new_group()
        if dist.get_rank() == 0:
            dist.all_reduce(torch.ones(2))  # of which the GPU alone waits for rank 1
            time.sleep(1.0)  # longer than a proof takes
            dist.barrier(beside)
        else:
            dist.barrier(beside)
            dist.all_reduce(torch.ones(2))

    assert len(sandbox.launch(meet_crosswise, world_size=2).ledger) == 4


def test_a_rank_that_runs_on_after_its_operation_is_at_its_line() -> None:
    def spin() -> None:
        act_as_nccl()
        dist.all_reduce(torch.ones(2))
        while True:
            pass

    with pytest.raises(sandbox.RankTimeoutError, match=r"running .*test_on_stream\.py, line"):
        sandbox.launch(spin, world_size=2, timeout_s=1.5)


def test_a_tensor_beside_the_gpu_is_told_where_it_belongs() -> None:
    def reduce() -> None:
        nccl = act_as_nccl()
        nccl.refusal = "No backend type associated with device type cpu"
        dist.all_reduce(torch.ones(2))

    with pytest.raises(sandbox.RankError, match=r"type cpu\. Hint: make the tensor on sandbox\."):
        sandbox.launch(reduce, world_size=1)
