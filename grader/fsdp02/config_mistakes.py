"""What is wrong with a DeepSpeed config, in words: also what DeepSpeed itself accepts silently."""

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.mistakes import Mistake

# deepspeed.ai/docs/config-json: what may stand at the top. DeepSpeed checks none of these names.
_TOP = """
train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps optimizer scheduler
communication_data_type prescale_gradients gradient_predivide_factor sparse_gradients fp16 bf16
amp gradient_clipping zero_optimization zero_allow_untested_optimizer zero_force_ds_cpu_optimizer
steps_per_print wall_clock_breakdown dump_state flops_profiler activation_checkpointing
sparse_attention tensorboard wandb csv_monitor comet comms_logger autotuning elasticity aio
data_efficiency curriculum_learning compression_training checkpoint data_types
dataloader_drop_last disable_allgather memory_breakdown torch_autocast tensor_parallel
pipeline hybrid_engine compile use_data_before_expert_parallelism seed
"""
TOP_KEYS = frozenset(_TOP.split())
BATCH_KEYS = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


@dataclass(frozen=True)
class ConfigMistake:
    """One thing that is wrong: the mistake, where ("zero_optimization.stage"), and how."""

    mistake: Mistake
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.key}: {self.text}"


def find_config_mistakes(config: Mapping[str, Any], world_size: int) -> list[ConfigMistake]:
    """Return all that is wrong with `config` on `world_size` ranks; imports DeepSpeed."""
    zero = config.get("zero_optimization", {})
    zero = zero if isinstance(zero, Mapping) else {}
    return [
        *_unknown_keys(config, zero),
        *_batch_sizes(config, world_size),
        *_precisions(config),
        *_stages(zero),
        *_values(config, zero),
    ]


def _unknown_keys(config: Mapping[str, Any], zero: Mapping[str, Any]) -> Iterator[ConfigMistake]:
    from deepspeed.runtime.precision_config import DeepSpeedBF16Config, DeepSpeedFP16Config
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
    from deepspeed.runtime.zero.offload_config import (
        DeepSpeedZeroOffloadOptimizerConfig,
        DeepSpeedZeroOffloadParamConfig,
    )

    zero_keys = _names_of(DeepSpeedZeroConfig)
    yield from _unknown("", config, TOP_KEYS, {"zero_optimization": zero_keys})
    yield from _unknown("zero_optimization.", zero, zero_keys, {"": TOP_KEYS})
    for key, model in (
        ("offload_param", DeepSpeedZeroOffloadParamConfig),
        ("offload_optimizer", DeepSpeedZeroOffloadOptimizerConfig),
    ):
        if isinstance(zero.get(key), Mapping):
            yield from _unknown(f"zero_optimization.{key}.", zero[key], _names_of(model), {})
    for key, model in (("bf16", DeepSpeedBF16Config), ("fp16", DeepSpeedFP16Config)):
        if isinstance(config.get(key), Mapping):
            yield from _unknown(f"{key}.", config[key], _names_of(model), {})
    if isinstance(config.get("optimizer"), Mapping):
        known = {"type", "params", "legacy_fusion"}
        yield from _unknown("optimizer.", config["optimizer"], known, {})


def _names_of(model: Any) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def _unknown(
    path: str,
    given: Mapping[str, Any],
    known: Collection[str],
    elsewhere: Mapping[str, Collection[str]],
) -> Iterator[ConfigMistake]:
    """Yield unknown keys with the nearest known one, or with the section where they belong."""
    for key in given:
        if key in known:
            continue
        places = [place for place, keys in elsewhere.items() if key in keys]
        near = difflib.get_close_matches(str(key), known, n=1)
        if places:
            advice = f"it belongs into {places[0] or 'the top level'}"
        else:
            advice = f"did you mean {near[0]}?" if near else "no key is spelt like that"
        yield ConfigMistake(Mistake.DS_UNKNOWN_KEY, f"{path}{key}", f"unknown; {advice}")


def _batch_sizes(config: Mapping[str, Any], world_size: int) -> Iterator[ConfigMistake]:
    for key in BATCH_KEYS:
        value = config.get(key)
        if value is not None and (type(value) is not int or value < 1):
            yield ConfigMistake(Mistake.DS_BAD_VALUE, key, f"{value!r} is no whole number from 1")
            return
    batch, micro, steps = (config.get(key) for key in BATCH_KEYS)
    if batch is None and micro is None:
        text = "neither it nor train_micro_batch_size_per_gpu is given"
        yield ConfigMistake(Mistake.BATCH_SIZE_CONTRADICTION, "train_batch_size", text)
    elif batch is not None and batch % ((micro or 1) * (steps or 1) * world_size):
        text = f"{batch} is no multiple of {micro or 1} * {steps or 1} * {world_size} ranks"
        yield ConfigMistake(Mistake.BATCH_SIZE_CONTRADICTION, "train_batch_size", text)
    elif batch and micro and steps and batch != micro * steps * world_size:
        product = f"{micro} * {steps} * {world_size} ranks = {micro * steps * world_size}"
        text = f"{batch}, but {product}"
        yield ConfigMistake(Mistake.BATCH_SIZE_CONTRADICTION, "train_batch_size", text)


def _precisions(config: Mapping[str, Any]) -> Iterator[ConfigMistake]:
    enabled = [
        key
        for key in ("bf16", "fp16")
        if isinstance(config.get(key), Mapping) and config[key].get("enabled")
    ]
    if len(enabled) == 2:
        yield ConfigMistake(Mistake.TWO_PRECISIONS, "fp16.enabled", "bf16 is enabled as well")


def _stages(zero: Mapping[str, Any]) -> Iterator[ConfigMistake]:
    stage = zero.get("stage", 0)
    if type(stage) is not int or stage not in (0, 1, 2, 3):
        text = f"{stage!r} is not 0, 1, 2 or 3"
        yield ConfigMistake(Mistake.DS_BAD_VALUE, "zero_optimization.stage", text)
        return
    for key in zero:
        needs = 3 if key.startswith("stage3_") or key == "offload_param" else 0
        needs = 1 if key == "offload_optimizer" else needs
        if stage < needs:
            text = f"has no effect at stage {stage}; it needs stage {needs}"
            text += "" if needs == 3 else " or higher"
            yield ConfigMistake(Mistake.DS_KEY_WITHOUT_EFFECT, f"zero_optimization.{key}", text)


def _values(config: Mapping[str, Any], zero: Mapping[str, Any]) -> Iterator[ConfigMistake]:
    clipping = config.get("gradient_clipping", 0.0)
    if not isinstance(clipping, int | float) or clipping < 0:
        text = f"{clipping!r} is no norm: it must be a number from 0 (0: not clipped)"
        yield ConfigMistake(Mistake.DS_BAD_VALUE, "gradient_clipping", text)
    for key in ("reduce_bucket_size", "allgather_bucket_size"):
        numel = zero.get(key, 1)
        if not isinstance(numel, int | float) or numel < 1:
            text = f"{numel!r} is no number of elements"
            yield ConfigMistake(Mistake.DS_BAD_VALUE, f"zero_optimization.{key}", text)
