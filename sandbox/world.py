"""Ranks that live on between calls, and keep their variables."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Any, Self

from sandbox import backend as backends
from sandbox import limits
from sandbox.errors import RanksInterrupted
from sandbox.failure import name_ranks
from sandbox.faults.fault import Fault, check_faults
from sandbox.faults.injected import list_faults
from sandbox.proving.monitor import Monitor
from sandbox.ranks import process, warm
from sandbox.ranks.call import Call
from sandbox.ranks.crew import Crew
from sandbox.ranks.dispatch import dump_call
from sandbox.ranks.member import Member
from sandbox.ranks.notes import describe_notes
from sandbox.ranks.output import Output, show
from sandbox.ranks.returned import load_if_possible, load_result
from sandbox.ranks.turn import Turn
from sandbox.run import Run

INTERRUPT_GRACE_S = 0.5
REBUILD_TIMEOUT_S = 10.0


class World:
    """`world_size` ranks with a process group. Use it as a context, or call `close`.

    Functions of the notebook see each rank's own global variables, which live on between calls.
    """

    def __init__(
        self,
        world_size: int = 4,
        *,
        timeout_s: float = 30.0,
        backend: str = "auto",
        init_process_group: bool = True,
    ) -> None:
        self.world_size = limits.check_world_size(world_size)
        self.timeout_s = limits.check_timeout(timeout_s)
        self.backend, note = backends.choose(backend, world_size)
        show(f"{note}\n" if note else "")
        self.elastic_environ: dict[str, str] = {}  # what launch_elastic tells its ranks
        self._init_process_group = limits.check_flag("init_process_group", init_process_group)
        self._turn = Turn()
        self._crew: Crew | None = None
        self._monitor = Monitor(world_size)
        self._output = Output(world_size, show)
        self._directory = ""
        self._store_path = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def run(
        self,
        fn: Callable[..., Any],
        *args: Any,
        timeout_s: float | None = None,
        faults: Sequence[Fault] = (),
        memory: bool = False,
        **kwargs: Any,
    ) -> Run:
        """Call `fn(*args, **kwargs)` on every rank; return a Run with each rank's return value.

        `faults` happen in this call alone; steps, collectives and saves count from 1 in each call.
        With `memory=True` the run's `memory` says what each rank held, by category and over time.
        After an error the ranks live on, in new process groups where a collective was left
        unfinished; a rank that had to be killed starts empty, and the error says so.
        """
        return self.call(fn, args, kwargs, timeout_s=timeout_s, faults=faults, memory=memory)

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the ranks that run now; to be called from another thread."""
        if self._crew is not None:
            self._crew.signal(self._crew.busy(), signal.SIGINT)

    def resize(self, world_size: int) -> None:
        """Keep the first ranks and their variables, end or add others, and form new groups."""
        world_size = limits.check_world_size(world_size)
        backends.choose(self.backend, world_size)  # raises where that is more than there are GPUs
        with self._turn.taken():
            self.world_size = world_size
            if self._crew is not None:
                self._crew.drop(self._crew.members[world_size:])
                self._renew(self._crew)

    def reset(self) -> None:
        """End all ranks; the next call starts new ones, without variables."""
        self.close()

    def close(self) -> None:
        """End all ranks, whatever they started and a call of another thread; wait for all that."""
        with self._turn.taken_over(self.interrupt):
            self._end()

    def _end(self) -> None:
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.end()
            shutil.rmtree(self._directory, ignore_errors=True)

    def call(
        self,
        fn: Callable[..., Any],
        args: tuple,
        kwargs: dict[str, Any],
        *,
        timeout_s: float | None = None,
        faults: Sequence[Fault] = (),
        memory: bool = False,
        ranks: Collection[int] | None = None,
        is_last: bool = False,
    ) -> Run:
        """Do what `run` does, on `ranks`, all by default. After the last one, only close."""
        limits.check_keywords(fn, kwargs)
        limits.check_arguments(fn, args, kwargs)
        limits.check_flag("memory", memory)
        limit_s = self.timeout_s if timeout_s is None else limits.check_timeout(timeout_s)
        may_join = bool(self.elastic_environ)
        faults = check_faults(faults, self.world_size, self.backend, may_join=may_join)
        payload = dump_call(fn, args, kwargs, memory=memory)
        needs = warm.find_needs(fn, payload)
        with self._turn.taken():
            run = self._call(payload, faults, limit_s, needs, ranks, is_last)
            notes = describe_notes(self._monitor.journal, faults, names_missed=not may_join)
        show(notes)
        return run

    def _call(
        self,
        payload: bytes,
        faults: list[Fault],
        timeout_s: float,
        needs: Collection[str],
        ranks: Collection[int] | None,
        is_last: bool,
    ) -> Run:
        waiting_s = time.monotonic()
        self._check_ranks()
        crew = self._crew or self._start(needs)
        start_s = time.monotonic()
        self._monitor.begin_call(start_s)
        self._output = Output(self.world_size, show)
        call = Call(crew, self._monitor, self._output, faults, timeout_s)
        for member in crew.members:
            member.clear()
        called = [m for m in crew.members if ranks is None or m.rank in ranks]
        pickled_faults = pickle.dumps(faults)
        try:
            with process.interrupts_held():
                for member in called:
                    member.call(payload, pickled_faults, is_last)
            trouble = call.wait()
        except KeyboardInterrupt:
            states = call.describe()
            notes = [] if is_last else self._recover(crew, call)
            raise RanksInterrupted("\n".join(["the ranks were stopped", *states, *notes])) from None
        if trouble is None:
            return self._report(crew, faults, start_s, start_s - waiting_s, load_result)
        run = self._report(crew, faults, start_s, start_s - waiting_s, load_if_possible)
        notes = [f"Injected: {list_faults(run.faults)}."] if run.faults else []
        notes += [] if is_last else self._recover(crew, call)
        message = "\n".join([trouble.message, *notes])
        raise trouble.error(message, **trouble.known, run=run)

    # -- ranks come and go ----------------------------------------------------------------------

    def _start(self, needs: Collection[str]) -> Crew:
        limits.allow_files(self.world_size)
        warm_process, supervisor, supervising_process = warm.fork_supervisor(self.backend, needs)
        self._crew = Crew(supervisor, supervising_process, self._take_output)
        try:
            self._directory = warm_process.new_directory("world-")
            self._store_path = self._new_store()
            self._monitor = Monitor(self.world_size)
            for rank in range(self.world_size):
                self._crew.fork(rank, self._settings())
        except BaseException:
            self._end()
            raise
        return self._crew

    def _check_ranks(self) -> None:
        """Replace what has died between calls, and say so."""
        crew = self._crew
        if crew is None:
            return
        crew.refresh()
        self._output.flush(time.monotonic(), everything=True)  # of threads, since the last call
        lost = [member.rank for member in crew.members if member.ended is not None]
        notes = []
        if crew.is_lost:
            self._end()
        elif lost or not os.path.isdir(self._directory):  # a cleaner of temporary files was here
            notes = self._renew(crew)
        if lost:
            show(f"Ended since the last call, started anew without variables: {name_ranks(lost)}\n")
        show("".join(f"{note}\n" for note in notes))

    def _settings(self) -> dict[str, Any]:
        return {
            "world_size": self.world_size,
            "backend": self.backend,
            "store_path": self._store_path,
            "init_process_group": self._init_process_group,
            "cwd": limits.current_folder(),
            "sys_path": [str(path) for path in sys.path],
            "environ": dict(os.environ) | self.elastic_environ,
        }

    def _take_output(self, rank: int, data: bytes) -> None:
        self._output.feed(rank, data, time.monotonic())

    def _new_store(self) -> str:
        """Return the path of a new file in which the ranks of a generation will meet."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        return os.path.join(tempfile.mkdtemp(dir=self._directory), "store")

    def _recover(self, crew: Crew, call: Call) -> list[str]:
        """Bring all ranks to where the next call can start; say what was lost on the way."""
        try:
            return self._settle(crew, call)
        except KeyboardInterrupt:
            self._end()
            return ["Stopped twice: all ranks were ended, and their variables are lost."]

    def _settle(self, crew: Crew, call: Call) -> list[str]:
        # An interrupted rank may have issued a collective that it had no time to publish.
        in_doubt = bool(crew.busy()) or not self._monitor.is_balanced()
        killed = call.interrupt(INTERRUPT_GRACE_S)
        lost = [member.rank for member in crew.members if member.ended]
        notes = []
        if killed:
            notes.append(
                f"Did not react to the interrupt and had to be killed: {name_ranks(killed)}."
            )
        if lost:
            notes.append(f"Starts anew, without its variables: {name_ranks(lost)}.")
        if lost or in_doubt:
            notes += self._renew(crew)
        return notes

    def _renew(self, crew: Crew) -> list[str]:
        """Replace dead ranks and let all form new groups; name what is still bound to the old."""
        self._store_path = self._new_store()
        self._monitor = Monitor(self.world_size)
        kept = [member for member in crew.members if member.ended is None]
        for member in kept:
            member.rebuild(self._store_path, self.world_size)
        for rank in range(self.world_size):
            if rank >= len(crew.members) or crew.members[rank].ended is not None:
                crew.fork(rank, self._settings())
        crew.wait_until(
            lambda: all(member.bound is not None or member.ended for member in kept),
            time.monotonic() + REBUILD_TIMEOUT_S,
        )
        bound = dict.fromkeys(name for member in kept for name in member.bound or ())
        if not bound:
            return []
        return [f"New process groups were made; build again what uses the old: {', '.join(bound)}."]

    def _report(
        self,
        crew: Crew,
        faults: Sequence[Fault],
        start_s: float,
        waited_s: float,
        load: Callable[[Member], Any],
    ) -> Run:
        return Run(
            world_size=self.world_size,
            results=[load(member) for member in crew.members],
            ledger=self._monitor.ledger(),
            steps=[self._monitor.journal.steps(rank) for rank in range(self.world_size)],
            faults=self._monitor.journal.injected(faults),
            tracked_memory=self._monitor.journal.memory(self.world_size),
            output=self._output.texts(),
            duration_s=time.monotonic() - start_s,
            waited_s=waited_s,
            backend=self.backend,
        )
