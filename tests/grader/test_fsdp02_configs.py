"""A DeepSpeed config is read as DeepSpeed reads it, and what that swallows is named."""

import re
from pathlib import Path

import pytest

import sandbox
from grader.fsdp02.config_mistakes import TOP_KEYS, find_config_mistakes
from grader.fsdp02.explain_ds_config import explain_ds_config
from grader.mistakes import Mistake

pytestmark = [pytest.mark.fsdp02, pytest.mark.timeout(60)]

RIGHT = {
    "train_batch_size": 16,
    "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 4,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
    "zero_optimization": {"stage": 3, "stage3_max_live_parameters": 10},
}
ZERO = RIGHT["zero_optimization"]
WRONG = {
    "gradient_cliping: unknown; did you mean gradient_clipping?": {"gradient_cliping": 1.0},
    "stage: unknown; it belongs into zero_optimization": {"stage": 3},
    "zero_optimization.gradient_clipping: unknown; it belongs into the top level": {
        "zero_optimization": {**ZERO, "gradient_clipping": 1.0}
    },
    "zero_optimization.offload_param.devise: unknown; did you mean device?": {
        "zero_optimization": {**ZERO, "offload_param": {"devise": "cpu"}}
    },
    "bf16.enable: unknown; did you mean enabled?": {"bf16": {"enable": True}},
    "fp16.enabled: bf16 is enabled as well": {"bf16": {"enabled": True}, "fp16": {"enabled": True}},
    "train_batch_size: 18 is no multiple of 2 * 4 * 2 ranks": {"train_batch_size": 18},
    "train_batch_size: 32, but 2 * 4 * 2 ranks = 16": {"train_batch_size": 32},
    "gradient_accumulation_steps: 0 is no whole number from 1": {"gradient_accumulation_steps": 0},
    "zero_optimization.stage3_max_live_parameters: has no effect at stage 2; it needs stage 3": {
        "zero_optimization": {**ZERO, "stage": 2}
    },
    "zero_optimization.offload_optimizer: has no effect at stage 0; it needs stage 1 or higher": {
        "zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}
    },
    "zero_optimization.stage: '3' is not 0, 1, 2 or 3": {"zero_optimization": {"stage": "3"}},
    "gradient_clipping: -1 is no norm: it must be a number from 0 (0: not clipped)": {
        "gradient_clipping": -1
    },
}


def find_all(configs):
    """Return the sentences for each config; in a rank, since DeepSpeed is imported there."""
    return [[str(found) for found in find_config_mistakes(config, 2)] for config in configs]


def test_every_mistake_is_told_and_nothing_of_a_right_config():
    configs = [RIGHT, *(RIGHT | change for change in WRONG.values())]
    right, *wrong = sandbox.launch(find_all, configs, world_size=1).results[0]
    assert right == []
    assert wrong == [[sentence] for sentence in WRONG]


def test_a_config_without_any_batch_size_is_told():
    config = {"zero_optimization": {"stage": 1}}
    [told] = sandbox.launch(find_all, [config], world_size=1).results[0]
    assert told == ["train_batch_size: neither it nor train_micro_batch_size_per_gpu is given"]


def test_every_key_that_counts_as_known_is_one_that_deepspeed_reads():
    import importlib.util

    [root] = importlib.util.find_spec("deepspeed").submodule_search_locations
    texts = " ".join(path.read_text() for path in Path(root).rglob("*.py"))
    quoted = set(re.findall(r"['\"]([a-z0-9_]+)['\"]", texts))
    assert TOP_KEYS - quoted == set()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gradient_cliping": 1.0}, "DeepSpeed itself says nothing"),
        ({"train_batch_size": 32}, "DeepSpeed itself raises AssertionError: Check batch related"),
    ],
)
def test_deepspeeds_own_answer_is_told_as_well(change, said, capsys):
    explain_ds_config(RIGHT | change, world_size=2)
    assert said in capsys.readouterr().out


def test_each_finding_has_a_code():
    config = RIGHT | {"gradient_cliping": 1.0, "gradient_clipping": -1}

    def codes(config):
        return [found.mistake for found in find_config_mistakes(config, 2)]

    [found] = sandbox.launch(codes, config, world_size=1).results
    assert found == [Mistake.DS_UNKNOWN_KEY, Mistake.DS_BAD_VALUE]
