"""The checkpoint saves of a rank: counts them, and gets into the middle of one."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

import torch
from torch.distributed.checkpoint import state_dict_saver

from sandbox.faults.files import Files
from sandbox.faults.moment import Moment, Save
from sandbox.faults.watcher import Watcher


class Saves(Watcher):
    """A context in which saves are counted; `interrupt` acts in the one that has just begun."""

    def __init__(self, files: Files, reach: Callable[[Moment], None]) -> None:
        self._reach = reach
        self._num_saves = 0
        self._depth = 0  # saves that are in progress, in any thread: DCP calls torch.save
        self._actions: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._originals = contextlib.ExitStack()
        files.watchers.append(self)

    def __enter__(self) -> Self:
        save_sharded, save = state_dict_saver._save_state_dict, torch.save

        @functools.wraps(save_sharded)
        def watched_save_sharded(
            state_dict: Any, storage_writer: Any, *args: Any, **kwargs: Any
        ) -> Any:
            with self._saving():
                writer: Any = _Writer(storage_writer, self._strike)
                return save_sharded(state_dict, writer, *args, **kwargs)

        @functools.wraps(save)
        def watched_save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            if self._depth or not _is_on_disk(f):
                return save(obj, f, *args, **kwargs)
            with self._saving():
                save(obj, f, *args, **kwargs)
                self._strike()

        self._replace(state_dict_saver, "_save_state_dict", watched_save_sharded)
        self._replace(torch.serialization, "save", watched_save)
        self._replace(torch, "save", watched_save)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._originals.close()

    def interrupt(self, action: Callable[[], None]) -> None:
        """Have `action` done in the middle of the save that has just begun."""
        self._actions.append(action)

    def admit(self, path: str, num_bytes: int) -> int:
        """Let half of a write pass: the first of the save."""
        return num_bytes // 2 if self._actions and num_bytes > 1 else num_bytes

    def written(self, path: str, num_bytes: int) -> None:
        """Act now that something, and not all, is on disk."""
        if num_bytes:
            self._strike()

    def _strike(self) -> None:
        actions, self._actions = self._actions, []
        for action in actions:
            action()

    @contextlib.contextmanager
    def _saving(self) -> Iterator[None]:
        with self._lock:
            self._num_saves += 1
            self._depth += 1
            number = self._num_saves
        try:
            self._reach(Save(number))
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if not self._depth:
                    self._actions = []  # the save failed before it wrote anything

    def _replace(self, module: Any, name: str, new: Any) -> None:
        self._originals.callback(setattr, module, name, getattr(module, name))
        setattr(module, name, new)


class _Writer:
    """A DCP storage writer: a rank that had nothing to write is interrupted when it is done."""

    def __init__(self, inner: Any, strike: Callable[[], None]) -> None:
        self._inner = inner
        self._strike = strike

    def write_data(self, *args: Any, **kwargs: Any) -> Any:
        result = self._inner.write_data(*args, **kwargs)
        self._strike()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _is_on_disk(f: Any) -> bool:
    """Whether torch.save writes to a file, and not into memory."""
    if isinstance(f, str | os.PathLike):
        return True
    try:
        return f.fileno() >= 0
    except (AttributeError, OSError):  # io.UnsupportedOperation is one
        return False
