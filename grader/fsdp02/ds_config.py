"""Step 8: DeepSpeed's config for every stage, read by us and by DeepSpeed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from grader.fsdp02.config_mistakes import ConfigMistake, find_config_mistakes
from grader.fsdp02.exercise import Check
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox import toys
from sandbox.failure import count_ranks

DsConfig = Callable[..., dict[str, Any]]
SIZES = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
LR, MAX_NORM, BUCKET_NUMEL, PERSISTENT_NUMEL = 1e-2, 1.0, 2_000, 100  # as the notebook has them


@dataclass(frozen=True)
class Arguments:
    """One call of ds_config."""

    stage: int
    world_size: int
    micro_batch_size: int
    accumulation_steps: int
    bf16: bool = False
    offload: bool = False

    @property
    def text(self) -> str:
        """Return the call, for a verdict."""
        flags = f"bf16={self.bf16}, offload={self.offload}"
        sizes = f"{self.world_size}, {self.micro_batch_size}, {self.accumulation_steps}"
        return f"ds_config({self.stage}, {sizes}, {flags})"


CALLS = (
    *(Arguments(stage, 4, 3, 2) for stage in range(4)),
    *(Arguments(stage, 3, 1, 5, bf16=True) for stage in range(4)),
    *(Arguments(stage, 2, 2, 1, bf16=True, offload=True) for stage in (1, 2, 3)),
    Arguments(0, 1, 1, 1, offload=True),
)
READ_BY_DEEPSPEED = (
    Arguments(1, 2, 3, 2, bf16=True),
    Arguments(3, 2, 1, 4, offload=True),
)


def check_ds_config(ds_config: DsConfig) -> None:
    """Judge `ds_config(stage, world_size, micro_batch_size, accumulation_steps, …) -> dict`."""
    proof = f"right for {len(CALLS)} calls, and DeepSpeed reads it as it is meant"
    with Check("ds_config", proof, ds_config) as check:
        answers = check.launch(observe, ds_config, world_size=1).results[0]
        for call, (config, mistakes) in zip(CALLS, answers, strict=True):
            if failure := judge(config, mistakes, call):
                check.judge(replace(failure, where=call.text))
        for call in READ_BY_DEEPSPEED:
            run = check.launch(read, ds_config, call, world_size=2, case=count_ranks(2))
            if failure := judge_read(run.results[0], call):
                check.judge(replace(failure, where=call.text))


def _call(ds_config: DsConfig, call: Arguments) -> Any:
    sizes = (call.stage, call.world_size, call.micro_batch_size, call.accumulation_steps)
    return ds_config(*sizes, call.bf16, call.offload)


def observe(ds_config: DsConfig) -> list[tuple[dict[str, Any] | str, list[ConfigMistake]]]:
    """Return each config, flat, and what is wrong with it."""
    found: list[tuple[dict[str, Any] | str, list[ConfigMistake]]] = []
    for call in CALLS:
        config = _call(ds_config, call)
        if not isinstance(config, dict):
            found.append(("None" if config is None else type(config).__name__, []))
        else:
            found.append((_flat(config), find_config_mistakes(config, call.world_size)))
    return found


def _flat(config: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{path}{key}.")
        else:
            flat[f"{path}{key}"] = value
    return flat


def expected(call: Arguments) -> dict[str, Any]:
    """Return what must stand in the config of this call, as flat keys."""
    zero = "zero_optimization"
    keys: dict[str, Any] = {
        f"{zero}.stage": call.stage,
        "train_batch_size": call.micro_batch_size * call.accumulation_steps * call.world_size,
        "train_micro_batch_size_per_gpu": call.micro_batch_size,
        "gradient_accumulation_steps": call.accumulation_steps,
        "gradient_clipping": MAX_NORM,
        "bf16.enabled": call.bf16,
        "optimizer.type": "AdamW",
        "optimizer.params.lr": LR,
        "optimizer.params.torch_adam": True,
        f"{zero}.reduce_bucket_size": BUCKET_NUMEL,
    }
    if call.stage in (1, 2):
        keys[f"{zero}.allgather_bucket_size"] = BUCKET_NUMEL
    if call.stage == 3:
        keys[f"{zero}.stage3_param_persistence_threshold"] = PERSISTENT_NUMEL
    if call.offload and call.stage >= 1:
        keys[f"{zero}.offload_optimizer.device"] = "cpu"
    if call.offload and call.stage == 3:
        keys[f"{zero}.offload_param.device"] = "cpu"
    return keys


def judge(
    config: dict[str, Any] | str, mistakes: list[ConfigMistake], call: Arguments
) -> Failure | None:
    """Judge one config: first what is wrong in itself, then against what was asked for."""
    if isinstance(config, str):
        return Failure(mistake=Mistake.WRONG_RESULT, expected="a dict", came=config)
    if mistakes:
        first = mistakes[0]
        return Failure(mistake=first.mistake, came=str(first))
    config = _with_left_out_size(config, call.world_size)
    defaults = {"bf16.enabled": False}
    for key, value in expected(call).items():
        came = config.get(key, defaults.get(key, "no such key"))
        if _is_same(came, value):
            continue
        return Failure(
            mistake=Mistake.DS_CONFIG_WRONG, expected=f"{key}: {value!r}", came=f"{came!r}"
        )
    for key in ("offload_optimizer", "offload_param"):
        wanted = f"zero_optimization.{key}.device" in expected(call)
        came = config.get(f"zero_optimization.{key}.device", "none")
        if not wanted and came != "none":
            return Failure(mistake=Mistake.DS_CONFIG_WRONG, expected=f"no {key}", came=f"{came!r}")
    return None


def _with_left_out_size(config: dict[str, Any], world_size: int) -> dict[str, Any]:
    """Return the config with the batch size that it leaves out, worked out as DeepSpeed does."""
    sizes = {key: config.get(key) for key in SIZES}
    batch, micro, steps = sizes.values()
    if batch is None and micro and steps:
        sizes["train_batch_size"] = micro * steps * world_size
    elif batch and micro and steps is None:
        sizes["gradient_accumulation_steps"] = batch // (micro * world_size)
    elif batch and micro is None and steps:
        sizes["train_micro_batch_size_per_gpu"] = batch // (steps * world_size)
    return config | {key: size for key, size in sizes.items() if size is not None}


def _is_same(came: object, value: object) -> bool:
    """Whether two values mean the same to DeepSpeed: names of optimizers in any capitals."""
    if isinstance(came, str) and isinstance(value, str):
        return came.lower() == value.lower()
    return came == value and isinstance(came, bool) == isinstance(value, bool)


def read(ds_config: DsConfig, call: Arguments) -> dict[str, Any]:
    """Return what an engine made with this config says of itself."""
    import deepspeed

    model = toys.Transformer(num_blocks=1)
    config = _call(ds_config, call)
    engine, *_ = deepspeed.initialize(
        model=model, config=config, model_parameters=model.parameters()
    )
    offload = engine.zero_offload_optimizer()
    return {
        "train_batch_size": engine.train_batch_size(),
        "train_micro_batch_size_per_gpu": engine.train_micro_batch_size_per_gpu(),
        "gradient_accumulation_steps": engine.gradient_accumulation_steps(),
        "gradient_clipping": engine.gradient_clipping(),
        "zero_optimization.stage": engine.zero_optimization_stage(),
        "bf16.enabled": engine.bfloat16_enabled(),
        "zero_optimization.reduce_bucket_size": engine.zero_reduce_bucket_size(),
        "offload": offload is not None and str(offload.device) != "none",
        "lr": engine.get_lr()[0],
    }


def judge_read(came: Mapping[str, Any], call: Arguments) -> Failure | None:
    """Judge what DeepSpeed made of the config."""
    wanted = expected(call) | {"offload": call.offload, "lr": LR}
    for key, value in came.items():
        if value != wanted[key]:
            return Failure(
                mistake=Mistake.DS_CONFIG_WRONG,
                expected=f"{key}: {wanted[key]!r} in DeepSpeed's engine",
                came=f"{value!r}",
            )
    return None
