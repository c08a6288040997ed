"""fsdp04 in nbgrader's own hands: a mixed submission keeps the points of its right answers."""

import pytest
from grading_tests import grade_mixed, judge_named, judge_right_and_blank, processes_of

pytestmark = [pytest.mark.fsdp04, pytest.mark.slow, pytest.mark.timeout(600)]

# Two mistakes that are named, and one answer that ends the kernel; the rest is right.
MIXED = """
def mask_tokens(tokens, ids, step, config):
    is_masked = torch.rand(tokens.shape) < config["mask_rate"]
    return tokens.masked_fill(is_masked, config["mask_token"])


def latest_complete(root):
    return max(Path(root).glob("step-*"), default=None)


import os

os._exit(1)


def keep_newest(root, num_kept):
    pass
"""
CALLS_IT_NOT = {"check_sample_ids", "check_shards", "check_record"}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Return the course after grading the mixed submission."""
    return grade_mixed(tmp_path_factory.mktemp("course"), "fsdp04", MIXED)


def test_mistakes_cost_their_own_points_and_are_named_in_the_feedback(mixed):
    mistakes = {"mask_tokens": "NOT_DETERMINISTIC", "checkpoint": "LATEST_POINTS_TO_TORN"}
    passed = judge_named(mixed, mistakes)
    assert passed >= CALLS_IT_NOT
    assert processes_of(mixed) == []


def test_answer_that_ends_the_kernel_costs_its_own_points(mixed):
    reason = "This cell ended the kernel (exit code 1)."
    assert mixed.stopped_answers("mixed") == {"keep_newest": reason}
    assert reason in mixed.feedback("mixed")


def test_reference_solution_gets_100_and_the_released_notebook_0(tmp_path):
    judge_right_and_blank(tmp_path, "fsdp04")
