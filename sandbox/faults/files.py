"""The files that a rank writes through Python, so that faults can cut writes short or tear files.

A full disk cannot be had without root, and a limit of the process (RLIMIT_FSIZE) holds for each
file, not for all, and says "File too large". So writes are watched here: `open` becomes the one of
_pyio, Python's own io in Python, whose files all come down to os.open, os.write and os.close; these
are replaced. torch.save to a path, which writes in C++, is given such a file to write to. Files
opened before, and what other C code (safetensors) or other processes write, are not seen.
"""

from __future__ import annotations

import _pyio  # type: ignore[import-not-found]  # typeshed lacks it
import builtins
import contextlib
import errno
import io
import os
import stat
from types import TracebackType
from typing import Any, Self

from torch import serialization

from sandbox.faults.watcher import Watcher

_WRITING = os.O_WRONLY | os.O_RDWR


class Files:
    """A context in which `watchers` are told of every regular file that this process writes."""

    def __init__(self) -> None:
        self.watchers: list[Watcher] = []
        self._paths: dict[int, str] = {}  # of the open ones, by descriptor
        self._originals = contextlib.ExitStack()

    def __enter__(self) -> Self:
        replace = self._replace
        for module in (builtins, io):
            replace(module, "open", self._open_file)
        replace(os, "open", self._open)
        replace(os, "close", self._close)
        for name in ("write", "pwrite", "writev", "pwritev"):
            if hasattr(os, name):
                replace(os, name, self._write)
        replace(os, "sendfile", self._sendfile)
        replace(os, "rename", self._rename)
        replace(os, "replace", self._rename)
        replace(serialization, "_open_zipfile_writer_file", lambda _: ZipFile)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._originals.close()

    def _replace(self, module: Any, name: str, wrap: Any) -> None:
        original = getattr(module, name)
        self._originals.callback(setattr, module, name, original)
        setattr(module, name, wrap(original))

    def _open_file(self, original: Any) -> Any:
        def open_(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            chosen = _pyio.open if set(mode) & set("wax+") else original
            return chosen(file, mode, *args, **kwargs)

        return open_

    def _open(self, original: Any) -> Any:
        def open_(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            fd = original(path, flags, *args, **kwargs)
            if flags & _WRITING and not kwargs and stat.S_ISREG(os.fstat(fd).st_mode):
                self._paths[fd] = _absolute(path)
            return fd

        return open_

    def _close(self, original: Any) -> Any:
        def close(fd: int) -> None:
            original(fd)
            path = self._paths.pop(fd, None)
            if path is not None:
                for watcher in self.watchers:
                    watcher.closed(path)

        return close

    def _write(self, original: Any) -> Any:
        def write(fd: int, data: Any, *args: Any) -> int:
            path = self._paths.get(fd)
            if path is None:
                return original(fd, data, *args)
            if isinstance(data, list | tuple):  # writev: several buffers, one after the other
                whole, data = b"".join(data), [b""]
                data[0] = whole[: self._admit(path, len(whole))]
                count = original(fd, data, *args)
            else:
                view = memoryview(data).cast("B")
                count = original(fd, view[: self._admit(path, len(view))], *args)
            for watcher in self.watchers:
                watcher.written(path, count)
            return count

        return write

    def _admit(self, path: str, num_bytes: int) -> int:
        return min((w.admit(path, num_bytes) for w in self.watchers), default=num_bytes)

    def _sendfile(self, original: Any) -> Any:
        def sendfile(out_fd: int, *args: Any, **kwargs: Any) -> int:
            if out_fd in self._paths:
                raise OSError(errno.EINVAL, "watched")  # shutil then reads and writes instead
            return original(out_fd, *args, **kwargs)

        return sendfile

    def _rename(self, original: Any) -> Any:
        def rename(source: Any, target: Any, **kwargs: Any) -> None:
            original(source, target, **kwargs)
            for watcher in self.watchers:
                watcher.renamed(_absolute(source), _absolute(target))

        return rename


class ZipFile(serialization._open_zipfile_writer_buffer):
    """What torch.save opens for a path: here a file of Python's, where torch opens one in C++.

    Either way a write that fails ends in the RuntimeError of the zip writer, when it is closed.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 (closed in __exit__)
        super().__init__(self._file)

    def __exit__(self, *args: Any) -> None:
        try:
            super().__exit__(*args)
        except BaseException:
            with contextlib.suppress(OSError):  # once more what has failed already
                self._file.close()
            raise
        self._file.close()


def _absolute(path: Any) -> str:
    return os.path.realpath(os.fsdecode(path))
