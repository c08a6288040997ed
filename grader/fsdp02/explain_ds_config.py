"""Read a DeepSpeed config: what is wrong with it, and what DeepSpeed itself says to it."""

from collections.abc import Mapping
from typing import Any

import sandbox
from grader import verdict
from grader.fsdp02.config_mistakes import find_config_mistakes
from sandbox import toys
from sandbox.errors import RankError


def explain_ds_config(config: Mapping[str, Any], world_size: int) -> None:
    """Print what is wrong with `config` on `world_size` ranks, and how DeepSpeed takes it."""
    found = sandbox.launch(_find, dict(config), world_size, world_size=1).results[0]
    for line in found or ["Nothing is wrong with this config."]:
        verdict.show(line)
    try:
        sandbox.launch(_initialize, dict(config), world_size=world_size)
    except RankError as error:
        first = (error.exc_message or "").splitlines()[:1]
        verdict.show(f"DeepSpeed itself raises {error.exc_type}: {''.join(first)}")
    else:
        verdict.show("DeepSpeed itself says nothing: it takes this config as it is.")


def _find(config: dict[str, Any], world_size: int) -> list[str]:
    return [str(mistake) for mistake in find_config_mistakes(config, world_size)]


def _initialize(config: dict[str, Any]) -> None:
    import deepspeed

    model = toys.Transformer()
    deepspeed.initialize(model=model, config=config, model_parameters=model.parameters())
