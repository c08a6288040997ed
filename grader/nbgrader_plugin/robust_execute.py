"""Run a submission to its end, whatever it does to its kernel."""

import copy
import math
import signal
import time
from pathlib import Path
from typing import Any, cast

from jupyter_client.manager import KernelManager
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbgrader.preprocessors import Execute
from traitlets import Bool, Integer

from grader.nbgrader_plugin import scoring, unhook
from grader.nbgrader_plugin.fresh_checks import fresh_import
from grader.nbgrader_plugin.submission import UNREADABLE
from grader.nbgrader_plugin.workplace import workplace

STOPPED = "Stopped"


class RobustExecute(Execute):
    """Executes a notebook; a cell that ends or freezes the kernel costs its own points only.

    That cell is marked, and a new kernel runs the cells before it again, graded cells and the
    culprit left out, and goes on behind it. Afterwards none of the kernels' processes is left.
    """

    submission_timeout = Integer(600, help="Seconds that one notebook may take.").tag(config=True)
    max_restarts = Integer(2, help="How often a lost kernel is replaced.").tag(config=True)
    max_output_chars = Integer(1_000_000, help="Output kept per cell.").tag(config=True)
    coalesce_streams = Bool(True)
    enabled = Bool(True)  # no option: --no-execute would leave empty outputs, worth full points

    def preprocess(
        self, nb: NotebookNode, resources: Any = None, km: KernelManager | None = None
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Return the notebook, every code cell executed or marked, every graded cell settled."""
        self._deadline_s = time.monotonic() + self.submission_timeout
        self._num_restarts = 0
        self._culprits: set[int] = set()
        self._fresh_import = fresh_import(nb.cells)
        self._why_not = _why_unreadable(nb)
        if self._why_not:
            for index, cell in enumerate(nb.cells):
                self.preprocess_cell(cell, resources, index)
            return nb, resources
        folder = resources.get("metadata", {}).get("path")
        with workplace(Path(folder) if folder else None) as self._workplace:
            executed: tuple[NotebookNode, dict[str, Any]] = super().preprocess(nb, resources, km)
            return executed

    def preprocess_cell(
        self, cell: NotebookNode, resources: Any, index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Execute one cell, or say why it was not run, and settle it if it is graded."""
        if self._is_over():
            if cell.cell_type == "code":
                cell.outputs = []
                scoring.say(cell, "NotRun", self._why_not)
            return cell, resources
        self._workplace.records.new()  # what other cells left there counts for none
        self._run(cell, index)
        if scoring.is_autograded(cell):
            scoring.settle(cell, self._workplace.records.new())
        return cell, resources

    def _is_over(self) -> bool:
        """Say whether no further cell is to be run; `_why_not` has the reason."""
        if not self._why_not and time.monotonic() >= self._deadline_s:
            limit = f"the {self.submission_timeout} s that one notebook may take"
            self._why_not = f"Not run: the cells before this one used up {limit}."
        return bool(self._why_not)

    def _run(self, cell: NotebookNode, index: int) -> None:
        """Execute a cell; if it costs the kernel, say so in the cell and get a new one."""
        self._num_chars = 0
        seconds = self._get_timeout(cell)
        sentence = f"This cell did not end within {seconds} s and was interrupted."
        self.error_on_timeout = scoring.error(STOPPED, sentence)
        try:
            if scoring.is_autograded(cell):
                for code in (unhook.CODE, self._fresh_import):
                    self.wait_for_reply(self.kc.execute(code, silent=True))
            self.execute_cell(cell, index, store_history=True)
            if any(output.get("ename") == STOPPED for output in cell.get("outputs", [])):
                self._culprits.add(index)
            return
        except DeadKernelError:
            sentence = f"This cell ended the kernel{self._how_it_ended()}."
        except CellTimeoutError:
            sentence = f"This cell did not end within {seconds} s, nor when it was interrupted."
        self.log.warning("Cell %s: %s", index, sentence)
        scoring.say(cell, STOPPED, sentence)
        self._culprits.add(index)
        self._replace_kernel(index)

    def _replace_kernel(self, index: int) -> None:
        """Start a new kernel and bring it to where the old one was, if that may still be done."""
        self._workplace.processes.end()
        if self._num_restarts == self.max_restarts:
            times = self.max_restarts + 1
            self._why_not = f"Not run: the cells before this one ended the kernel {times} times."
            return
        self._num_restarts += 1
        self._cleanup_kernel()
        self.km = self.create_kernel_manager()
        self.start_new_kernel()
        self.start_new_kernel_client()
        for earlier, cell in enumerate(self.nb.cells[:index]):
            is_needed = cell.cell_type == "code" and not scoring.is_autograded(cell)
            if is_needed and earlier not in self._culprits and not self._is_over():
                self._run(copy.deepcopy(cell), earlier)
                self.nb.cells[earlier] = cell  # it keeps the outputs of its first run

    def _how_it_ended(self) -> str:
        """Return how the kernel's process ended, as far as it is known."""
        process = cast(Any, self.km).provisioner.process
        if process is None or process.returncode is None:
            return ""
        if process.returncode >= 0:
            return f" (exit code {process.returncode})"
        names = {number.value: number.name for number in signal.Signals}
        return f" ({names.get(-process.returncode, 'a signal')})"

    def create_kernel_manager(self) -> KernelManager:
        """Return a manager whose kernel takes no network port."""
        manager = super().create_kernel_manager()
        manager.transport = "ipc"
        manager.ip = self._workplace.socket_prefix
        return manager

    def start_new_kernel(self, **kwargs: Any) -> None:
        """Start the kernel in the submission's workplace."""
        place = self._workplace
        super().start_new_kernel(env=place.environment(), cwd=str(place.cwd), **kwargs)

    def _get_timeout(self, cell: NotebookNode | None) -> int | None:
        """Return the seconds a cell may take: its own limit, or what the notebook has left."""
        left = max(1, math.ceil(self._deadline_s - time.monotonic()))
        limit = super()._get_timeout(cell)
        return left if limit is None else min(left, limit)

    def output(
        self, outs: list[NotebookNode], msg: dict[str, Any], *args: Any
    ) -> NotebookNode | None:
        """Keep an output of a cell as far as the cell's share goes: a loop may print for ever."""
        room = self.max_output_chars - self._num_chars
        self._num_chars += len(str(msg["content"]))
        if msg["msg_type"] == "stream":
            msg["content"]["text"] = msg["content"]["text"][: max(room, 0)]
        elif self._num_chars > self.max_output_chars:
            return None  # of an exception the kernel's reply still tells
        kept: NotebookNode | None = super().output(outs, msg, *args)
        return kept


def _why_unreadable(nb: NotebookNode) -> str:
    reason = nb.metadata.get("shardlab", {}).get(UNREADABLE)
    return f"Not run: the submitted notebook could not be read: {reason}." if reason else ""
