"""Where the results of a class go, so that a run that is ended leaves what it had.

A place takes files one by one, each whole or not at all; the last of a name is the one that counts.
"""

import tarfile
import time
from pathlib import Path
from typing import Protocol, TextIO


class Place(Protocol):
    """Takes files."""

    def put(self, name: str, text: str) -> None:
        """Keep `text` as the file `name`, in place of an earlier one."""

    def end(self) -> None:
        """Take note that no more comes."""


class Folder:
    """A new directory."""

    def __init__(self, path: Path) -> None:
        """Make it. Raises ValueError if it exists (another run may write there) or cannot be."""
        self._path = path
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            raise ValueError(
                f"{path} exists, and results are not mixed with those of another run: "
                "name a new folder, or remove it."
            ) from None
        except OSError as error:
            raise ValueError(f"{path} cannot be made: {error.strerror}.") from None

    def put(self, name: str, text: str) -> None:
        """Keep `text` as the file `name`, in place of an earlier one."""
        part = self._path / f".{name}.part"
        part.write_text(text, encoding="utf-8", errors="replace", newline="")
        part.replace(self._path / name)

    def end(self) -> None:
        """Do nothing: a folder has no end."""


class Archive:
    """A tar of the directory `graded`, written to a stream as results come."""

    def __init__(self, stream: TextIO) -> None:
        """Write to the bytes beneath `stream`. Raises ValueError if that is a terminal."""
        if stream.isatty():
            raise ValueError("the tar would go to the terminal: pipe it, as in … - | tar -x.")
        self._stream = stream

    def put(self, name: str, text: str) -> None:
        """Add `text` as graded/`name`; who unpacks the tar gets the last of each name."""
        data = text.encode("utf-8", "replace")
        member = tarfile.TarInfo(f"graded/{name}")
        member.size, member.mtime = len(data), int(time.time())
        padding = bytes(-len(data) % tarfile.BLOCKSIZE)
        self._stream.buffer.write(member.tobuf() + data + padding)
        self._stream.flush()

    def end(self) -> None:
        """Write the mark of the tar's end."""
        self._stream.buffer.write(bytes(2 * tarfile.BLOCKSIZE))
        self._stream.flush()
