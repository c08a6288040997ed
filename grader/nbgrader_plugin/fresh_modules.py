"""What outlives a re-import of our modules: the running warm process, and the notebook's names."""

import importlib
import socket
import subprocess
import sys
from types import FunctionType, ModuleType
from typing import Any

from sandbox.ranks import warm


def keep_warm(old: ModuleType | None) -> None:
    """Take over the warm processes of `sandbox.ranks.warm` as it was before the re-import.

    The handles are made anew: a method that an answer put on an old one is not called.
    """
    for name, known in getattr(old, "_running", {}).items():
        process, sock = getattr(known, "process", None), getattr(known, "sock", None)
        if type(process) is subprocess.Popen and type(sock) is socket.socket:
            fresh = warm.Warm(process, sock, known.directory, known.owner_pid, known.is_ready)
            warm._running.setdefault(name, fresh)


def rebind(names: dict[str, Any]) -> None:
    """Let the notebook's names of our modules, classes and functions mean the re-imported ones.

    Else a class that an answer imported by name would not be the one that the ranks know.
    """
    for name, value in list(names.items()):
        if isinstance(value, ModuleType):
            path, attribute = value.__name__, ""
        elif isinstance(value, type | FunctionType):
            path, attribute = str(value.__module__), value.__qualname__
        else:
            continue
        if path.partition(".")[0] != "sandbox" or path == "sandbox.magic":
            continue
        module = sys.modules.get(path) or importlib.import_module(path)
        names[name] = getattr(module, attribute, value) if attribute else module
