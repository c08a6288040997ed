"""The files that a rank writes through Python, so that faults can cut writes short or tear files.

A full disk cannot be had without root, and a limit of the process (RLIMIT_FSIZE) holds for each
file, not for all, and says "File too large". So writes are watched here: `open` becomes the one of
_pyio, Python's own io in Python, whose files all come down to os.open, os.write and os.close; these
are replaced, and so is what else changes files or folders (rename, remove, mkdir, fsync, …), which
pathlib, shutil and tempfile call too. torch.save to a path, which writes in C++, is given such a
file to write to. Not seen are files opened before, what other C code (safetensors) or other
processes change, the .pyc files of imports, and how tempfile removes a file that it closes.
"""

from __future__ import annotations

import _pyio  # type: ignore[import-not-found]  # typeshed lacks it
import builtins
import contextlib
import errno
import fcntl
import functools
import io
import os
import stat
from types import TracebackType
from typing import Any, Self

from torch import serialization

from sandbox.faults.watcher import Change, ChangeKind, Watcher

_WRITING = os.O_WRONLY | os.O_RDWR
_CHANGING = os.O_CREAT | os.O_TRUNC
_CHANGES_OF_PATHS = {
    "mkdir": ChangeKind.MKDIR,
    "remove": ChangeKind.REMOVE,
    "rmdir": ChangeKind.RMDIR,
    "truncate": ChangeKind.TRUNCATE,
    "unlink": ChangeKind.REMOVE,
}
_CHANGES_OF_OPEN_FILES = {
    "fdatasync": ChangeKind.FSYNC,
    "fsync": ChangeKind.FSYNC,
    "ftruncate": ChangeKind.TRUNCATE,
}


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
        replace(os, "link", functools.partial(self._change_second, ChangeKind.LINK))
        replace(os, "symlink", functools.partial(self._change_second, ChangeKind.SYMLINK))
        for name, kind in _CHANGES_OF_PATHS.items():
            replace(os, name, functools.partial(self._change, kind))
        for name, kind in _CHANGES_OF_OPEN_FILES.items():
            if hasattr(os, name):
                replace(os, name, functools.partial(self._change_open, kind))
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
        def open_(
            path: Any, flags: int, *args: Any, dir_fd: int | None = None, **kwargs: Any
        ) -> int:
            if flags & _CHANGING:
                self._tell(ChangeKind.OPEN, _locate(path, dir_fd))
            fd = original(path, flags, *args, dir_fd=dir_fd, **kwargs)
            if flags & _WRITING and stat.S_ISREG(os.fstat(fd).st_mode):
                self._paths[fd] = os.path.realpath(_locate(path, dir_fd))
            return fd

        return open_

    def _close(self, original: Any) -> Any:
        def close(fd: int) -> None:
            path = self._paths.pop(fd, None)
            if path is not None:
                self._tell(ChangeKind.CLOSE, path)
            original(fd)
            if path is not None:
                for watcher in self.watchers:
                    watcher.closed(path)

        return close

    def _write(self, original: Any) -> Any:
        def write(fd: int, data: Any, *args: Any) -> int:
            path = self._paths.get(fd)
            if path is None:
                return original(fd, data, *args)
            self._tell(ChangeKind.WRITE, path)
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
        rename = self._change_second(ChangeKind.RENAME, original)

        def tell_renamed(source: Any, target: Any, **kwargs: Any) -> None:
            rename(source, target, **kwargs)
            for watcher in self.watchers:
                watcher.renamed(
                    _locate(source, kwargs.get("src_dir_fd")),
                    _locate(target, kwargs.get("dst_dir_fd")),
                )

        return tell_renamed

    def _change_second(self, kind: ChangeKind, original: Any) -> Any:
        """Wrap what makes a name, its second argument, of another."""

        def change(source: Any, target: Any, *args: Any, **kwargs: Any) -> None:
            dir_fd = kwargs.get("dst_dir_fd", kwargs.get("dir_fd"))
            self._tell(kind, _locate(target, dir_fd))
            original(source, target, *args, **kwargs)

        return change

    def _change(self, kind: ChangeKind, original: Any) -> Any:
        def change(path: Any, *args: Any, **kwargs: Any) -> None:
            self._tell(kind, _locate(path, kwargs.get("dir_fd")))
            original(path, *args, **kwargs)

        return change

    def _change_open(self, kind: ChangeKind, original: Any) -> Any:
        def change(file: Any, *args: Any) -> None:
            fd = file if isinstance(file, int) else file.fileno()
            self._tell(kind, self._paths.get(fd) or _find_path(fd))
            original(fd, *args)

        return change

    def _tell(self, kind: ChangeKind, path: str) -> None:
        """Tell of a change that is about to be made, unless it is one of a device, socket, ….

        That it will succeed cannot be known: another rank may be first to make or remove a path.
        """
        if self.watchers and not _is_special(path):
            for watcher in self.watchers:
                watcher.changing(Change(kind, path))


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


def _locate(path: Any, dir_fd: int | None = None) -> str:
    """Return the absolute path of a name, without following it if it is itself a link."""
    if isinstance(path, int):
        return _find_path(path)
    folder, name = os.path.split(os.fsdecode(path).rstrip(os.sep))
    if dir_fd is not None:
        folder = os.path.join(_find_path(dir_fd), folder)
    return os.path.join(os.path.realpath(folder), name)


def _find_path(fd: int) -> str:
    """Return the path of an open file or folder."""
    if hasattr(fcntl, "F_GETPATH"):  # macOS
        return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{fd}")


def _is_special(path: str) -> bool:
    """Whether it is there, and neither a file nor a folder nor a link."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
