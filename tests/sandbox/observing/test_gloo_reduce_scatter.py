"""The reduce_scatter that can be polled gives what torch's own gives, bit for bit."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox.observing.gloo_reduce_scatter import prepare


def compare(num_rows: int) -> None:
    from torch.distributed import distributed_c10d as c10d

    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    plain = dist.ProcessGroup(c10d._get_default_store(), dist.get_rank(), dist.get_world_size())
    plain._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, backend)
    torch.manual_seed(dist.get_rank())
    whole = torch.randn(num_rows * dist.get_world_size(), 3) * 10
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
            options = dist.ReduceScatterOptions()
            options.reduceOp = op
            inputs = whole.to(dtype)
            ours, theirs = torch.empty(2, num_rows, 3, dtype=dtype)
            start = prepare(plain, (ours, inputs, options))
            assert start is not None
            work = start()
            while not work.is_completed():
                pass
            plain.reduce_scatter_single(theirs, inputs, options).wait()
            assert torch.equal(ours, theirs)
            assert torch.equal(inputs, whole.to(dtype))


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_the_result_is_torchs_own(world_size: int) -> None:
    for num_rows in (1, 7):
        sandbox.launch(compare, num_rows, world_size=world_size)


def test_what_does_not_fit_is_left_to_torch() -> None:
    def call_wrongly() -> None:
        dist.reduce_scatter_single(torch.empty(3), torch.ones(4))

    with pytest.raises(sandbox.RankError, match="outputShape"):
        sandbox.launch(call_wrongly, world_size=2)


def test_it_completes_without_anybody_waiting() -> None:
    def poll() -> list[float]:
        output = torch.empty(2)
        work = dist.reduce_scatter_single(output, torch.ones(4), async_op=True)
        while not work.is_completed():
            pass
        return output.tolist()

    run = sandbox.launch(poll, world_size=2)
    assert run.results == [[2.0, 2.0]] * 2
    (event,) = run.ledger.where(rank=0)
    assert event.is_async
    assert event.end_s is not None
