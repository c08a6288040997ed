"""What ranks print: lines merged across ranks, shown as they come, bounded in size."""

from __future__ import annotations

import codecs
import enum
import re
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from sandbox.failure import name_ranks
from sandbox.ranks.merge import Merge

MAX_SHOWN_BYTES = 1 << 20  # per rank and call; what comes after is counted and dropped
MAX_LINE_CHARS = 4000


def show(text: str) -> None:
    """Write to the caller's stdout; never to stderr, for which nbgrader gives 0 points."""
    stream = sys.stdout
    try:
        stream.write(text)
        stream.flush()
    except UnicodeEncodeError:
        stream.write(text.encode(stream.encoding, "replace").decode(stream.encoding))
    except ValueError:  # it is closed: nobody looks
        pass


class Echo(enum.Enum):
    """What gloo prints when ranks disagree or one is gone; of interest if no error says it."""

    ABORT = (
        r"terminate called after throwing an instance of 'gloo::|  what\(\):  \[enforce fail .*gloo"
    )
    NO_MESH = r"(\[rank\d+\]:)?\[E.*Gloo connectFullMesh failed"


@dataclass
class _Stream:
    """One rank's output so far in this call."""

    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    rest: str = ""
    kept: list[str] = field(default_factory=list)
    num_bytes: int = 0


class Output:
    """Collects the ranks' output and passes merged lines to `show`."""

    def __init__(self, world_size: int, show: Callable[[str], None]) -> None:
        self._show = show
        self._streams = [_Stream() for _ in range(world_size)]
        self._merge = Merge(world_size)
        self._echoes: list[tuple[Echo, int, str]] = []  # held back: an error may explain them
        self._explained: Collection[Echo] = ()

    def explain(self, echoes: Collection[Echo]) -> None:
        """Drop such lines from now on, and those held back: an error says more."""
        self._explained = echoes

    def feed(self, rank: int, data: bytes, now_s: float) -> None:
        """Take what `rank` wrote; whole lines wait for their like from other ranks."""
        stream = self._streams[rank]
        room = max(0, MAX_SHOWN_BYTES - stream.num_bytes)
        stream.num_bytes += len(data)
        *lines, stream.rest = (stream.rest + stream.decoder.decode(data[:room])).split("\n")
        if len(stream.rest) > MAX_LINE_CHARS:
            lines.append(stream.rest)
            stream.rest = ""
        for line in lines:
            self._add(rank, line, now_s)

    def flush(self, now_s: float, everything: bool = False) -> None:
        """Show the lines that have waited long enough; at the end all, unfinished ones too."""
        if everything:
            for rank, stream in enumerate(self._streams):
                if stream.rest:
                    self._add(rank, stream.rest, now_s)
                    stream.rest = ""
            held, self._echoes = self._echoes, []
            for echo, rank, line in held:
                if echo not in self._explained:
                    self._keep(rank, line, now_s)
            for rank, stream in enumerate(self._streams):
                if stream.num_bytes > MAX_SHOWN_BYTES:
                    dropped = (stream.num_bytes - MAX_SHOWN_BYTES) / 1e6
                    self._add(
                        rank, f"… {dropped:.1f} MB more were printed and are not shown", now_s
                    )
                    stream.num_bytes = 0
        taken = self._merge.take(now_s, everything)
        if ready := [f"{name_ranks(ranks)}: {line}\n" for ranks, line in taken]:
            self._show("".join(ready))

    def texts(self) -> list[str]:
        """Return what each rank printed, as far as it was kept."""
        return ["".join(f"{line}\n" for line in stream.kept) for stream in self._streams]

    def _add(self, rank: int, line: str, now_s: float) -> None:
        # A progress bar rewrites its line with carriage returns: a person sees the last state.
        line = line.rstrip("\r").rpartition("\r")[2]
        for echo in Echo:
            if re.match(echo.value, line):
                self._echoes.append((echo, rank, line))
                return
        self._keep(rank, line, now_s)

    def _keep(self, rank: int, line: str, now_s: float) -> None:
        self._streams[rank].kept.append(line)
        self._merge.add(rank, line, now_s)
