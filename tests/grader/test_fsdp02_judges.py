"""fsdp02's judges on made-up observations, where no mutant gets."""

from dataclasses import replace

import pytest

from grader.fsdp02 import ds_config, engine_training, sent_bytes, state_bytes
from grader.fsdp02.ds_config import Arguments
from grader.fsdp02.engine_training import Seen
from grader.fsdp02.engines import CASES, truths_of
from grader.mistakes import Mistake

pytestmark = pytest.mark.fsdp02
CALL = Arguments(3, 2, 1, 4, offload=True)


def test_what_deepspeed_reads_otherwise_is_told():
    right = ds_config.expected(CALL) | {"offload": True, "lr": ds_config.LR}
    assert ds_config.judge_read(right, CALL) is None
    failure = ds_config.judge_read(right | {"gradient_accumulation_steps": 1}, CALL)
    assert failure.mistake is Mistake.DS_CONFIG_WRONG
    assert failure.expected == "gradient_accumulation_steps: 4 in DeepSpeed's engine"


def test_true_is_no_number_and_a_word_in_capitals_is_a_word():
    right = ds_config.expected(CALL)
    assert ds_config.judge(right | {"optimizer.type": "adamw"}, [], CALL) is None
    wrong = right | {"bf16.enabled": "false"}
    assert ds_config.judge(wrong, [], CALL).mistake is Mistake.DS_CONFIG_WRONG


def test_offloading_that_nobody_asked_for_is_told():
    call = replace(CALL, offload=False)
    config = ds_config.expected(call) | {"zero_optimization.offload_param.device": "cpu"}
    assert ds_config.judge(config, [], call).expected == "no offload_param"


@pytest.fixture(scope="module")
def truth():
    """Return the case of stage 2, and what its ranks would see if all went well."""
    case = CASES[1][1]
    truths = truths_of(case, 2)
    losses = [truth.loss for truth in truths for _ in range(2)]
    seen = Seen("pair", losses, 2, truths[-1].grad_norm, truths[-1].weights)
    return case, [seen] * case.world_size


def test_the_truth_passes(truth):
    case, seen = truth
    assert engine_training.judge(seen, case) is None


def test_a_norm_that_nobody_took_is_no_right_one(truth):
    case, seen = truth
    came = [replace(rank, grad_norm=float("nan")) for rank in seen]
    assert engine_training.judge(came, case).mistake is Mistake.ENGINE_BYPASSED


def test_weights_that_are_nan_are_wrong(truth):
    case, seen = truth
    name = "norm.weight"
    broken = dict(seen[1].weights) | {name: seen[1].weights[name] * float("nan")}
    failure = engine_training.judge([seen[0], replace(seen[1], weights=broken)], case)
    assert failure.mistake is Mistake.WRONG_WEIGHTS
    assert failure.where == "rank 1, 'norm.weight'"


def test_a_partition_may_be_rounded_either_way():
    down = [num // world for num, world, _, _ in state_bytes.CASES]
    exact = [
        sum(
            part * (share if stage >= first else num)
            for part, first in zip(state_bytes.PARTS[is_mixed], (3, 2, 1), strict=True)
        )
        for (num, _, stage, is_mixed), share in zip(state_bytes.CASES, down, strict=True)
    ]
    assert state_bytes.judge(exact) is None


@pytest.mark.parametrize("judge", [state_bytes.judge, sent_bytes.judge])
def test_nan_is_no_prediction(judge):
    answers = [float("nan")] * max(len(state_bytes.CASES), len(sent_bytes.CASES))
    assert judge(answers).mistake is Mistake.ESTIMATE_WRONG
