"""fsdp01 in nbgrader's own hands: right, blank and mixed submissions are told apart."""

import pytest
from grading_tests import grade_mixed, judge_named, judge_right_and_blank, processes_of

pytestmark = [pytest.mark.fsdp01, pytest.mark.slow, pytest.mark.timeout(400)]

# One mistake that is named, one answer that ends the kernel, one that deadlocks; the rest is right.
MIXED = """
def shard_model(model, mesh):
    fully_shard(model, mesh=mesh)
    return model


import os

os._exit(1)


def sample_ids(num_samples, epoch, seed, rank, world_size):
    return []


def save_checkpoint(directory, model, optimizer, next_epoch):
    if dist.get_rank() == 0:
        model_state, optimizer_state = get_state_dict(model, optimizer)
        state = {"model": model_state, "optimizer": optimizer_state, "next_epoch": next_epoch}
        dcp.save(state, checkpoint_id=directory)
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return the course after grading the mixed submission."""
    return grade_mixed(tmp_path_factory.mktemp("course"), "fsdp01", MIXED)


def test_mistakes_cost_their_own_points_and_are_named_in_the_feedback(course):
    mistakes = {"shard_model": "ROOT_ONLY_WRAP", "checkpoint": "RANK0_ONLY_STATE_DICT"}
    passed = judge_named(course, mistakes)
    assert passed >= {"check_rows_of_rank", "check_build", "check_train_step", "check_padded_numel"}


def test_answer_that_ends_the_kernel_costs_its_own_points(course):
    reason = "This cell ended the kernel (exit code 1)."
    assert course.stopped_answers("mixed") == {"sample_ids": reason}
    assert reason in course.feedback("mixed")


def test_no_kernel_and_no_rank_is_left(course):
    assert processes_of(course) == []


def test_reference_solution_gets_100_and_the_released_notebook_0(tmp_path):
    judge_right_and_blank(tmp_path, "fsdp01")
