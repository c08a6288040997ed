"""Keep DeepSpeed from compiling C++ when a group is made on the CPU, whoever imports it and when.

Its shared-memory op takes 47 s of g++ at first use, and what it sends bypasses process groups, so
that no ledger would see it. gloo does the same work.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

MODULE = "deepspeed.ops"  # where DeepSpeed keeps which of its ops can be built here
OP = "deepspeed_shm_comm"


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for MODULE, and changes it once it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_change(module: ModuleType) -> None:
                load(module)
                probe = vars(module)["_probe_compatible_ops"]
                vars(module)["_probe_compatible_ops"] = lambda: probe() | {OP: False}

            spec.loader.exec_module = load_and_change  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Have the op marked as one that cannot be built as soon as DeepSpeed is imported."""
    sys.meta_path.insert(0, _Finder())
