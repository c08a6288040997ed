"""Which generation of an elastic launch a rank belongs to: its environment says it."""

from __future__ import annotations

import os

_GENERATION = "SANDBOX_GENERATION"


def generation() -> int:
    """Return how many times the function has been started before this: 0 in a plain launch."""
    return int(os.environ.get(_GENERATION, "0"))


def describe_generation(
    number: int, restart_count: int, max_restarts: int, run_id: str
) -> dict[str, str]:
    """Return the variables that the ranks of a generation get; torchrun's have its meanings."""
    return {
        _GENERATION: str(number),
        "TORCHELASTIC_RESTART_COUNT": str(restart_count),
        "TORCHELASTIC_MAX_RESTARTS": str(max_restarts),
        "TORCHELASTIC_RUN_ID": run_id,
    }
