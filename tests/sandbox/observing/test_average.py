"""An average of a tensor that requires grad: gloo alone writes its graph, with torch's result."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.distributed as dist

import sandbox

HOOK = "an autograd kernel was not registered"  # what the calling thread hooks into the graph


def reduce_loss(op: str) -> tuple[float, bool]:
    """Return the gradient that comes through the reduced loss, and whether torch hooked it."""
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * 2).sum()
    reduce_op = getattr(dist.ReduceOp, op)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dist.all_reduce(loss, op=reduce_op)
        assert loss.item() == (6.0 if op == "AVG" else 18.0)
        loss.backward()
    gradient = 0.0 if weight.grad is None else weight.grad[0].item()
    return gradient, any(HOOK in str(warning.message) for warning in caught)


def test_the_graph_of_an_average_is_gloos_and_not_touched_meanwhile() -> None:
    run = sandbox.launch(reduce_loss, "AVG", world_size=3)
    assert run.results == [(pytest.approx(2 / 3), False)] * 3  # divided, as plain gloo does


def test_a_sum_keeps_torchs_warning() -> None:
    run = sandbox.launch(reduce_loss, "SUM", world_size=3)
    assert run.results == [(2.0, True)] * 3


def test_a_reduce_scatter_of_averages_fills_the_output() -> None:
    def scatter() -> list[float]:
        whole = torch.ones(6, requires_grad=True) * (dist.get_rank() + 1)
        output = torch.empty(2)
        dist.reduce_scatter_tensor(output, whole, op=dist.ReduceOp.AVG)
        return output.tolist()

    assert sandbox.launch(scatter, world_size=3).results == [[2.0, 2.0]] * 3
