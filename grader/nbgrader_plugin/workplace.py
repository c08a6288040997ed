"""The place where one submission runs: a directory, an environment, and processes of its own."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.nbgrader_plugin.process_tree import ProcessTree
from grader.record import RECORDS_VARIABLE, RecordReader


@dataclass(frozen=True)
class Workplace:
    """Where a kernel works (`cwd`), what it may fill (`home`), what it starts, what it records."""

    home: Path
    cwd: Path
    processes: ProcessTree
    records: RecordReader

    @property
    def socket_prefix(self) -> str:
        """Where the kernel's sockets go: files, so that no port is taken."""
        return str(self.home / "kernel")

    def environment(self) -> dict[str, str]:
        """Return the environment of the kernel."""
        return {
            **os.environ,
            **self.processes.environment,
            RECORDS_VARIABLE: str(self.records.path),
            "PYTHONSAFEPATH": "1",  # a submitted torch.py is not torch
            "IPYTHONDIR": str(self.home / "ipython"),  # start-up files reach no other kernel
            "TMPDIR": str(self.home / "tmp"),
        }


@contextlib.contextmanager
def workplace(folder: Path | None) -> Iterator[Workplace]:
    """Give a kernel a place in which it may do as it likes; then no process and no file is left.

    The kernel works in a copy of `folder`, so what it writes is not handed on. Without a folder
    (Validate in JupyterLab) it works where the caller stands, as the learner's own kernel does.
    """
    processes = ProcessTree()
    # Should this process be killed, the sandbox removes what directories of that name it left.
    prefix = f"shardlab-{os.getpid()}-"
    with (
        tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as directory,
        processes.adopting_orphans(),
    ):
        home = Path(directory)
        (home / "tmp").mkdir()
        cwd = Path.cwd()
        if folder is not None:
            cwd = home / "work"
            shutil.copytree(folder, cwd, symlinks=True)
        try:
            yield Workplace(home, cwd, processes, RecordReader(home / "records"))
        finally:
            processes.end()
