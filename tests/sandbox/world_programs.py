"""What the tests of World have its ranks do: remember a number, and add up over all of them."""

from __future__ import annotations

import torch
import torch.distributed as dist


def count_calls() -> int:
    import __main__

    __main__.calls = getattr(__main__, "calls", 0) + 1
    return __main__.calls


def sum_ranks() -> float:
    total = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(total)
    return total.item()
