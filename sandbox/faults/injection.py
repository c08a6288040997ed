"""The faults of one call at work in one rank: counts moments, and acts when one is reached."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sandbox.event import Op
from sandbox.faults.moment import Collective, FileChange, Moment, Save, Step

if TYPE_CHECKING:
    from sandbox.faults.fault import Fault
    from sandbox.faults.file_changes import FileChanges
    from sandbox.faults.files import Files
    from sandbox.faults.saves import Saves
    from sandbox.observing.recorder import Recorder
    from sandbox.observing.steps import Steps

Action = Callable[[], None]


class Injection:
    """A context in which the faults that concern this rank happen; without any, nothing changes."""

    def __init__(self, faults: Sequence[Fault], recorder: Recorder, steps: Steps) -> None:
        self.recorder = recorder
        self.always: list[Action] = []  # to be done at every moment
        self.exits = contextlib.ExitStack()  # undoes all
        self._faults = faults
        self._steps = steps
        self._actions: defaultdict[Moment, list[Action]] = defaultdict(list)
        self._num_collectives = itertools.count(1)
        self._files: Files | None = None
        self._saves: Saves | None = None
        self._file_changes: FileChanges | None = None

    def __enter__(self) -> Self:
        mine = [fault for fault in self._faults if fault.concerns(self.recorder.rank)]
        if mine:
            self.exits.callback(self._detach)
            self._steps.on_start = lambda number: self.reach(Step(number))
            self.recorder.before_issue = self._before_issue
        for fault in mine:
            fault.install(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.exits.close()

    def tell(self, fault: Fault, is_over: bool = False) -> None:
        """Publish that a fault happens now, or that it is over."""
        number = next(n for n, other in enumerate(self._faults) if other is fault)
        fields = (number, self.recorder.rank, time.monotonic(), is_over)
        self.recorder.publish(("fault", *fields))

    def when(self, moment: Moment, action: Action) -> None:
        """Have `action` done when a step, collective, save or change of a file begins."""
        if isinstance(moment, Save):
            _ = self.saves
        elif isinstance(moment, FileChange):
            _ = self.file_changes
        self._actions[moment].append(action)

    def strike_at(self, moment: Moment, action: Action) -> None:
        """Have `action` done at a moment: of a save or a write that is in the middle of it."""
        if isinstance(moment, Save):
            self.when(moment, lambda: self.saves.interrupt(action))
        elif isinstance(moment, FileChange):
            self.when(moment, lambda: self.file_changes.interrupt(action))
        else:
            self.when(moment, action)

    def reach(self, moment: Moment) -> None:
        """Do what is to be done when `moment` begins."""
        for action in (*self.always, *self._actions.get(moment, ())):
            action()

    def reach_end(self) -> None:
        """Do what is to be done at every moment once the function has returned."""
        for action in self.always:
            action()

    @property
    def files(self) -> Files:
        """The files that this rank writes, watched from the first time this is asked for."""
        if self._files is None:
            from sandbox.faults.files import Files

            self._files = self.exits.enter_context(Files())
        return self._files

    @property
    def saves(self) -> Saves:
        """The checkpoint saves of this rank, watched from the first time this is asked for."""
        if self._saves is None:
            from sandbox.faults.saves import Saves

            self._saves = self.exits.enter_context(Saves(self.files, self.reach))
        return self._saves

    @property
    def file_changes(self) -> FileChanges:
        """The changes of files by this rank, watched from the first time this is asked for."""
        if self._file_changes is None:
            from sandbox.faults.file_changes import FileChanges

            self._file_changes = FileChanges(self.files, self.reach)
        return self._file_changes

    def _before_issue(self, op: str) -> None:
        if not Op(op).makes_group:
            self.reach(Collective(next(self._num_collectives)))

    def _detach(self) -> None:
        self._steps.on_start = None
        self.recorder.before_issue = None
        self.recorder.links = None
