"""Run N ranks in a notebook or a script, and see what they did."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.backend import device
    from sandbox.elastic.elastic_run import ElasticRun
    from sandbox.elastic.generation import generation
    from sandbox.elastic.launcher import launch_elastic
    from sandbox.errors import (
        CollectiveMismatchError,
        DeadlockError,
        LaunchError,
        NotAvailableError,
        NotTrackedError,
        RankDiedError,
        RankError,
        RankTimeoutError,
        SandboxError,
    )
    from sandbox.event import Event, Op
    from sandbox.faults import (
        Collective,
        DiskFull,
        FileChange,
        Join,
        Kill,
        Lose,
        Pause,
        Save,
        Slow,
        SlowLink,
        Step,
        TornWrite,
    )
    from sandbox.launcher import launch
    from sandbox.ledger import Ledger
    from sandbox.memory.model_states import model_states
    from sandbox.nccl_settings import explain_nccl, nccl
    from sandbox.observing.observe import mark
    from sandbox.pictures.sharding import show_sharding
    from sandbox.proving.wait_for import WaitFor
    from sandbox.run import Run
    from sandbox.world import World

_HOMES = {
    "Collective": "faults.moment",
    "CollectiveMismatchError": "errors",
    "DeadlockError": "errors",
    "DiskFull": "faults.disk_full",
    "ElasticRun": "elastic.elastic_run",
    "Event": "event",
    "FileChange": "faults.moment",
    "Join": "faults.join",
    "Kill": "faults.kill",
    "LaunchError": "errors",
    "Ledger": "ledger",
    "Lose": "faults.lose",
    "NotAvailableError": "errors",
    "NotTrackedError": "errors",
    "Op": "event",
    "Pause": "faults.pause",
    "RankDiedError": "errors",
    "RankError": "errors",
    "RankTimeoutError": "errors",
    "Run": "run",
    "SandboxError": "errors",
    "Save": "faults.moment",
    "Slow": "faults.slow",
    "SlowLink": "faults.slow_link",
    "Step": "faults.moment",
    "TornWrite": "faults.torn_write",
    "WaitFor": "proving.wait_for",
    "World": "world",
    "device": "backend",
    "explain_nccl": "nccl_settings",
    "generation": "elastic.generation",
    "launch": "launcher",
    "launch_elastic": "elastic.launcher",
    "mark": "observing.observe",
    "model_states": "memory.model_states",
    "nccl": "nccl_settings",
    "show_sharding": "pictures.sharding",
}
__all__ = [
    "Collective",
    "CollectiveMismatchError",
    "DeadlockError",
    "DiskFull",
    "ElasticRun",
    "Event",
    "FileChange",
    "Join",
    "Kill",
    "LaunchError",
    "Ledger",
    "Lose",
    "NotAvailableError",
    "NotTrackedError",
    "Op",
    "Pause",
    "RankDiedError",
    "RankError",
    "RankTimeoutError",
    "Run",
    "SandboxError",
    "Save",
    "Slow",
    "SlowLink",
    "Step",
    "TornWrite",
    "WaitFor",
    "World",
    "device",
    "explain_nccl",
    "generation",
    "launch",
    "launch_elastic",
    "mark",
    "model_states",
    "nccl",
    "show_sharding",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `import sandbox` stays under 50 ms."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sandbox' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sandbox.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names: what completion offers."""
    return __all__


def load_ipython_extension(shell: Any) -> None:
    """Start the warm process and register %%ranks: what `%load_ext sandbox` does."""
    from sandbox import magic

    magic.load(shell)
