"""fsdp02 in nbgrader's own hands: right, blank and mixed submissions are told apart."""

import pytest
from grading_tests import grade_mixed, judge_named, judge_right_and_blank, processes_of

pytestmark = [pytest.mark.fsdp02, pytest.mark.slow, pytest.mark.timeout(400)]

# Two mistakes that are named, one answer that kills its ranks, one hang; the rest is right.
MIXED = """
import ctypes


def zero1_step(flat, optimizer):
    gradients = flatten([parameter.grad for parameter in flat.parameters], dist.get_world_size())
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, gradients)
    optimizer.step()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad = None


def gather(flat):
    ctypes.string_at(0)


def read_parameters(model):
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def save_checkpoint(engine, directory, next_step):
    if dist.get_rank() == 0:
        engine.save_checkpoint(directory, client_state={"next_step": next_step})
"""
MISTAKES = {
    "zero1": "GRADIENTS_SUMMED",
    "gather": "RANK_DIED",
    "zero3": "RANK_DIED",
    "read_parameters": "SIZE0_WEIGHTS",
    "checkpoint": "RANK0_ONLY_DS_SAVE",
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Return the course after grading the mixed submission."""
    return grade_mixed(tmp_path_factory.mktemp("course"), "fsdp02", MIXED)


def test_mistakes_cost_their_own_points_and_are_named_in_the_feedback(mixed):
    found = {cell.grade_id for cell in mixed.results("mixed")}
    assert judge_named(mixed, MISTAKES) == found - {f"check_{name}" for name in MISTAKES}


def test_no_kernel_and_no_rank_is_left(mixed):
    assert processes_of(mixed) == []


def test_reference_solution_gets_100_and_the_released_notebook_0(tmp_path):
    judge_right_and_blank(tmp_path, "fsdp02")
