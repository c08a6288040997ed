"""Run a function on N fresh ranks and see what they did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox import warm
from sandbox.dispatch import dump_call
from sandbox.run import Run
from sandbox.world import World


def launch(
    fn: Callable[..., Any],
    *args: Any,
    world_size: int = 4,
    timeout_s: float = 30.0,
    backend: str = "auto",
    init_process_group: bool = True,
    **kwargs: Any,
) -> Run:
    """Call `fn(*args, **kwargs)` on `world_size` fresh ranks and return what came of it.

    Each rank is a process of its own, forked warm, with RANK, WORLD_SIZE and LOCAL_RANK set as
    torchrun sets them, and the default group made unless `init_process_group` is False. All ranks,
    and whatever they started, are gone when this returns or raises.

    Raises LaunchError (nothing could start), RankError (an exception in a rank), RankDiedError (its
    process ended), CollectiveMismatchError, DeadlockError, or RankTimeoutError after `timeout_s`.
    """
    payload = dump_call(fn, args, kwargs)
    with World(
        world_size, timeout_s=timeout_s, backend=backend, init_process_group=init_process_group
    ) as world:
        needs = warm.find_needs(fn, payload)
        return world.call(payload, world.timeout_s, needs=needs, is_last=True)
