"""End every process that a graded kernel started, sessions of their own included, and no other."""

import contextlib
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil

from sandbox.ranks.process import adopt_orphans

TOKEN_VARIABLE = "SHARDLAB_KERNEL"  # inherited by every process that the kernel starts
MAX_ROUNDS = 50  # a process may start others while its relatives are being ended


@dataclass
class ProcessTree:
    """The processes that carry one token in their environment, and all that descend from them."""

    token: str = field(default_factory=lambda: secrets.token_hex(16))
    _adopts_orphans: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """What the environment of the tree's first process must contain."""
        return {TOKEN_VARIABLE: self.token}

    @contextlib.contextmanager
    def adopting_orphans(self) -> Iterator[None]:
        """On Linux, become the parent of processes that leave the tree, unless this has children.

        A process that clears its environment and whose parent ends would not be found otherwise.
        Where other children are about (a JupyterLab server), theirs could not be told from ours.
        """
        self._adopts_orphans = sys.platform == "linux" and not psutil.Process().children()
        if self._adopts_orphans:
            adopt_orphans()
        try:
            yield
        finally:
            if self._adopts_orphans:
                adopt_orphans(False)
            self._adopts_orphans = False

    def find(self) -> set[psutil.Process]:
        """Return the processes of the tree that exist now."""
        roots = [process for process in psutil.process_iter() if self._is_marked(process)]
        if self._adopts_orphans:
            roots += psutil.Process().children()
        found = set(roots)
        for root in roots:
            with contextlib.suppress(psutil.NoSuchProcess):
                found.update(root.children(recursive=True))
        return found

    def end(self) -> None:
        """Kill the tree and wait until nothing of it is left."""
        for _ in range(MAX_ROUNDS):
            found = self.find()
            if not found:
                return
            for process in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(found, timeout=1)
        left = ", ".join(sorted(map(str, found)))
        raise RuntimeError(f"processes of a graded kernel could not be ended: {left}")

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(TOKEN_VARIABLE) == self.token
        except (psutil.Error, OSError):  # gone, or another user's
            return False
