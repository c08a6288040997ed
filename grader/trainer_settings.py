"""What a Ray trainer was made with, as plain data, and whether that is what was asked for."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.mistakes import Mistake
from grader.verdict import Failure


@dataclass(frozen=True)
class Settings:
    """What a trainer was made with; `config` is a text: "CONFIG", or in what it differs from it."""

    kind: str
    num_workers: object = None
    use_gpu: object = None
    backend: object = None
    storage_path: object = None
    config: str | None = None
    max_failures: object = None
    num_to_keep: object = None


def settings_of(trainer: object, expected_config: Mapping[str, Any]) -> Settings:
    """Return the settings of a TorchTrainer; of anything else, its kind alone. Imports Ray."""
    from ray.train.torch import TorchConfig, TorchTrainer

    kind = type(trainer).__name__
    if not isinstance(trainer, TorchTrainer):
        return Settings(kind)
    made: Any = trainer  # what it was made with, Ray declares nowhere
    scaling, backend, run = made.scaling_config, made.backend_config, made.run_config
    config = made.train_loop_config
    return Settings(
        kind="TorchTrainer",
        num_workers=scaling.num_workers,
        use_gpu=bool(scaling.use_gpu),
        backend=backend.backend if isinstance(backend, TorchConfig) else type(backend).__name__,
        storage_path=plain_path(run.storage_path),
        config=describe_config(config, expected_config) if config else None,
        max_failures=run.failure_config.max_failures,
        num_to_keep=run.checkpoint_config.num_to_keep,
    )


def judge_settings(
    settings: Settings, expected: Settings, mistakes: Mapping[str, Mistake]
) -> Failure | None:
    """Judge each setting that `mistakes` names; a loop may have been given its config before."""
    for name, mistake in mistakes.items():
        wanted, came = getattr(expected, name), getattr(settings, name)
        if wanted != came and not (name == "config" and came is None):
            return Failure(
                mistake=mistake,
                expected=f"{name} {wanted!r}",
                came=f"{came!r}",
                where=f"make_trainer({expected.num_workers}, storage_path)",
            )
    return None


def plain_path(path: object) -> str:
    """Return a path without "file://" before it."""
    return os.path.normpath(str(path).removeprefix("file://"))


def describe_config(config: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Return "CONFIG", or in what the config differs from it."""
    other = [key for key in expected if key not in config or config[key] != expected[key]]
    if not other:
        return "CONFIG"
    told = [f"{key!r}: {config[key]!r}" if key in config else f"no {key!r}" for key in other]
    return ", ".join(told)
