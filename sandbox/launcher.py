"""Run a function on N fresh ranks and see what they did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sandbox.faults.fault import Fault
from sandbox.run import Run
from sandbox.world import World


def launch(
    fn: Callable[..., Any],
    *args: Any,
    world_size: int = 4,
    timeout_s: float = 30.0,
    backend: str = "auto",
    init_process_group: bool = True,
    faults: Sequence[Fault] = (),
    memory: bool = False,
    **kwargs: Any,
) -> Run:
    """Call `fn(*args, **kwargs)` on `world_size` fresh ranks and return what came of it.

    Each rank is a process of its own, forked warm, with RANK, WORLD_SIZE and LOCAL_RANK set as
    torchrun sets them, and the default group made unless `init_process_group` is False. All ranks,
    and whatever they started, are gone when this returns or raises. `faults` are what shall go
    wrong, as in `faults=[Kill(rank=2, at=Step(3))]`; see `sandbox.faults`.

    With `memory=True` the run's `memory` says what each rank held, by category and over time. That
    costs some 0.1 ms per operator: a toy then takes two to five times as long.

    Raises LaunchError (nothing could start), RankError (an exception in a rank), RankDiedError (its
    process ended), CollectiveMismatchError, DeadlockError, or RankTimeoutError after `timeout_s`.
    """
    with World(
        world_size, timeout_s=timeout_s, backend=backend, init_process_group=init_process_group
    ) as world:
        return world.call(fn, args, kwargs, faults=faults, memory=memory, is_last=True)
