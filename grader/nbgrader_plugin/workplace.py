"""The place where one submission runs: a directory of its own, an environment, and its processes."""

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from grader.nbgrader_plugin.process_tree import ProcessTree
from grader.record import RECORDS_VARIABLE, RecordReader


class Workplace:
    """A context in which a kernel may do as it likes; at its end no process and no file is left.

    The kernel works in a copy of `folder`, so what it writes is not handed on. Without a folder
    (Validate in JupyterLab) it works where the caller stands, as the learner's own kernel does.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.processes = ProcessTree()

    def __enter__(self) -> Self:
        self._home = Path(tempfile.mkdtemp(prefix="shardlab-"))
        self._adoption = self.processes.adopting_orphans()
        self._adoption.__enter__()
        self.cwd = Path.cwd()
        if self._folder is not None:
            self.cwd = self._home / "work"
            shutil.copytree(self._folder, self.cwd, symlinks=True)
        (self._home / "tmp").mkdir()
        self.records = RecordReader(self._home / "records")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.processes.end()
        finally:
            self._adoption.__exit__(kind, error, trace)
            shutil.rmtree(self._home, ignore_errors=True)

    @property
    def socket_prefix(self) -> str:
        """Where the kernel's sockets go: files, so that no port is taken."""
        return str(self._home / "kernel")

    def environment(self) -> dict[str, str]:
        """Return the environment of the kernel."""
        return {
            **os.environ,
            **self.processes.environment,
            RECORDS_VARIABLE: str(self.records.path),
            "PYTHONSAFEPATH": "1",  # a submitted torch.py is not torch
            "IPYTHONDIR": str(self._home / "ipython"),  # start-up files cannot reach the next student
            "TMPDIR": str(self._home / "tmp"),
        }
