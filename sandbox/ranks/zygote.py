"""The warm process: it has imported torch, Ray and DeepSpeed, and forks ranks on request.

Started by warm.py as `python -m sandbox.ranks.zygote FD DIRECTORY`; FD is a socket to its owner.
It runs no torch operation, starts no thread, never touches CUDA: what it forks is as good as new.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import shutil
import signal
import socket
import sys

from sandbox.ranks import no_compiling, process, wire
from sandbox.ranks.fork_guard import ForkGuard
from sandbox.ranks.supervisor import supervise

# What every exercise needs. Imported here once, these cost a rank nothing; torch._dynamo and the
# state-dict modules are what FSDP2 and DCP would otherwise import in every rank (2-6 s).
FIRST = (
    "torch",
    "numpy",
    "cloudpickle",
    "torch.distributed.fsdp",
    "torch.distributed.checkpoint",
    "torch.distributed.checkpoint.state_dict",
    "torch.distributed.checkpoint._fsspec_filesystem",
    "torch.utils.serialization.config",
    "torch._dynamo",
    "torch._subclasses.schema_check_mode",
    "torch.profiler._cupti_monitor",
    "sandbox.ranks.rank",
    "sandbox.toys",
    "sandbox.pictures.cell_value",
    "sandbox.pictures.layout",
)
# Imported between requests, one at a time; a request that needs one waits.
LATER = (
    "ray.train.torch",
    "ray.tune",  # where ray.train.report looks first
    "torch.distributed.tensor.parallel",
    "torch.distributed.pipelining",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper",
    "deepspeed",
    "deepspeed.runtime.zero.muon.muon_optimizer",
    "deepspeed.runtime.superoffload.superoffload_stage3",
    "deepspeed.module_inject.auto_ep_layer",
    "deepspeed.comm.mori",
)
IDLE_S = 0.25  # without a request, before the next of those begins
# Before DeepSpeed: a notebook that runs its cells in a row, as under grading, and does not use it
# is not to share the processor with an import of seconds.
LONG_IDLE_S = 3.0


class Zygote:
    """Serves the requests of one notebook process until that ends."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.waiting_imports = list(LATER)
        self.asked_for: set[str] = set()
        self.supervisors: set[int] = set()
        self.guard = ForkGuard()

    def serve(self) -> None:
        """Answer requests; import what is left while there are none."""
        no_compiling.install()
        for name in FIRST:
            self._import(name)
        freeze()
        wire.send(self.sock, ("ready",))
        owner = os.getppid()
        while True:
            readable, _, _ = select.select([self.sock], [], [], self._idle_s())
            self._reap()
            if readable:
                message, files = wire.receive(self.sock)
                self._answer(message, files)
            elif self.waiting_imports:
                self._import_next()
            elif os.getppid() != owner:  # a child of the notebook may hold our socket open
                raise EOFError

    def _idle_s(self) -> float:
        """Return how long to wait for a request before doing what else there is to do."""
        if not self.waiting_imports:
            return 1.0
        return LONG_IDLE_S if self.waiting_imports[0].startswith("deepspeed") else IDLE_S

    def _answer(self, message: tuple, files: list[int]) -> None:
        kind, needs = message
        assert kind == "fork", kind
        while any(name in needs for name in self.waiting_imports):
            self._import_next()
        if new := [name for name in needs if name not in self.asked_for]:
            self.asked_for.update(new)  # once, whatever comes of it
            for name in new:
                self._import(name)
            freeze()
        owner = socket.socket(fileno=files[0])
        if refusal := self.guard.refusal():
            wire.send(owner, ("refused", None, refusal))
            owner.close()
            return
        pid = os.fork()
        if pid == 0:
            self.sock.close()
            supervise(owner)
        owner.close()
        self.supervisors.add(pid)

    def _import_next(self) -> None:
        self._import(self.waiting_imports.pop(0))
        freeze()

    def _import(self, name: str) -> None:
        """Import a module; the rank that needs it reports one that is broken on this machine."""
        try:
            importlib.import_module(name)
            if deepspeed_ops := sys.modules.get(no_compiling.MODULE):
                _ = deepspeed_ops.__compatible_ops__  # probed once here, not by every rank
        except Exception as error:
            sys.stderr.write(f"preload of {name}: {error!r}\n")
        self.guard.look(f"`import {name}`")

    def _reap(self) -> None:
        while self.supervisors:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid in self.supervisors:
                self.supervisors.remove(pid)
                if status != 0:  # it was killed: what was below it has come to us
                    process.end_descendants(keep=self.supervisors)


def freeze() -> None:
    """Keep the collector off what ranks inherit: it would copy every page and take a second."""
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve until the notebook's process ends, then end everything below and clean up."""
    fd, directory = int(sys.argv[1]), sys.argv[2]
    process.adopt_orphans()
    process.go_on_at_parents_end()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    zygote = Zygote(socket.socket(fileno=fd))
    try:
        zygote.serve()
    except EOFError:
        pass
    finally:
        process.end_descendants()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
