"""fsdp03 in nbgrader's own hands: a mixed submission keeps the points of its right answers."""

import pytest
from grading_tests import grade_mixed, judge_named, judge_right_and_blank

pytestmark = [pytest.mark.fsdp03, pytest.mark.slow, pytest.mark.timeout(400)]

# Two mistakes that are named, and one answer that ends the kernel; the rest is right.
MIXED = """
def shard_mixed(model, mesh):
    model.to(torch.bfloat16)
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    return model


import os

os._exit(1)


def first_nonfinite(records):
    return []


def checkpoint_blocks(model, every):
    return checkpoint_wrapper(model)
"""
CALLS_IT_NOT = {
    "check_lost_updates",
    "check_fp16_range",
    "check_train_step",
    "check_choose_policies",
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Return the course after grading the mixed submission."""
    return grade_mixed(tmp_path_factory.mktemp("course"), "fsdp03", MIXED)


def test_mistakes_cost_their_own_points_and_are_named_in_the_feedback(mixed):
    mistakes = {"shard_mixed": "PURE_BF16_STATE", "checkpoint_blocks": "ROOT_CHECKPOINTED"}
    passed = judge_named(mixed, mistakes)
    assert passed >= CALLS_IT_NOT


def test_answer_that_ends_the_kernel_costs_its_own_points(mixed):
    reason = "This cell ended the kernel (exit code 1)."
    assert mixed.stopped_answers("mixed") == {"first_nonfinite": reason}
    assert reason in mixed.feedback("mixed")


def test_reference_solution_gets_100_and_the_released_notebook_0(tmp_path):
    judge_right_and_blank(tmp_path, "fsdp03")
