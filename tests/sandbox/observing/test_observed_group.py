"""What is recorded of a call: the events of the ledger are those of the call as issued."""

from __future__ import annotations

import torch
import torch.distributed as dist

import sandbox
from sandbox import Op


def test_events_are_those_of_the_call_as_issued() -> None:
    def issue_one_of_each() -> None:
        rank, ones = dist.get_rank(), torch.ones(2, 3)
        dist.all_reduce(ones, op=dist.ReduceOp.AVG)
        dist.all_gather_single(torch.empty(4, 3), ones)
        dist.reduce_scatter_single(torch.empty(1, 3), ones.bfloat16().float(), op=dist.ReduceOp.MAX)
        dist.broadcast(ones.bfloat16(), src=1)
        dist.reduce(ones, dst=1)
        dist.all_to_all_single(
            torch.empty(3), torch.ones(3), [2 - rank, 1 + rank], [2 - rank, 1 + rank]
        )
        dist.barrier()
        (dist.send if rank == 0 else dist.recv)(torch.ones(5), 1 - rank)

    events = list(sandbox.launch(issue_one_of_each, world_size=2).ledger.where(rank=0))
    seen = [(e.op, e.seq, e.shape, e.numel, e.dtype, e.nbytes, e.reduce_op, e.root) for e in events]
    assert seen == [
        (Op.ALL_REDUCE, 1, (2, 3), 6, "float32", 24, "AVG", None),
        (Op.ALL_GATHER, 2, (2, 3), 12, "float32", 48, None, None),
        (Op.REDUCE_SCATTER, 3, (2, 3), 6, "float32", 24, "MAX", None),
        (Op.BROADCAST, 4, (2, 3), 6, "bfloat16", 12, None, 1),
        (Op.REDUCE, 5, (2, 3), 6, "float32", 24, "SUM", 1),
        (Op.ALL_TO_ALL, 6, (3,), 3, "float32", 12, None, None),
        (Op.BARRIER, 7, (), 0, "", 0, None, None),
        (Op.SEND, 1, (5,), 5, "float32", 20, None, 1),
    ]
    assert events[5].parts == (2, 1)
    assert all(event.group == (0, 1) and not event.is_async for event in events)
    lines = [int(event.call_site.rpartition(":")[2]) for event in events if event.call_site]
    assert lines == sorted(set(lines))
    ends = [(event.start_s, event.end_s) for event in events]
    assert all(end is not None and 0 <= start <= end for start, end in ends)
