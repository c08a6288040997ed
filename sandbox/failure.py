"""An exception in a rank as plain data, and the one message that many ranks' failures make."""

from __future__ import annotations

import itertools
import os
import re
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox import source

# What gloo raises in the ranks that were talking to one that is gone: an echo, not a cause.
ECHOES = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "Socket closed")
MAX_CHAIN = 4
MAX_TEXT_CHARS = 4000
TAIL_CHARS = 1000  # of these, how many are the end of a longer text
MAX_SAME_FRAMES = 3  # as Python's own tracebacks
MAX_FRAMES = 60

Parts = Mapping[int, tuple[BaseException, traceback.StackSummary | None]]


@dataclass(frozen=True)
class Failure:
    """One rank's exception: its type and text, and the frames of it and of what caused it."""

    time_s: float
    exc_type: str
    exc_message: str
    final_lines: str
    # One entry per exception, the cause first: (frames, final lines, how the next one came of it).
    chain: tuple[tuple[tuple[tuple[str, int, str], ...], str, str], ...]

    @property
    def is_echo(self) -> bool:
        """Whether this only says that another rank is gone."""
        return any(text in self.exc_message for text in ECHOES)

    @property
    def summary(self) -> str:
        """What to say of it where another rank is the culprit."""
        lost = "lost its connection to a rank that had failed"
        return lost if self.is_echo else self.likeness.split("\n")[-1]

    @property
    def likeness(self) -> str:
        """What ranks that fail alike share: its final lines, without addresses in memory."""
        return re.sub(r"\b0x[0-9a-f]+", "0x…", self.final_lines)

    @property
    def site(self) -> str | None:
        """The learner's own line that raised or led there, as "file:line"."""
        frames = self.chain[-1][0]
        for filename, line, _ in reversed(frames):
            if source.is_learners(filename):
                return f"{filename}:{line}"
        return "{}:{}".format(*frames[-1]) if frames else None

    def render(self) -> str:
        """Return the traceback text, with the source lines of notebook cells."""
        parts = []
        for frames, final_lines, link in self.chain:
            lines = _render_frames(frames)
            parts.append("\n".join([*lines, final_lines]) + (f"\n\n{link}\n" if link else ""))
        return "\n".join(parts)


def capture(error: BaseException, time_s: float) -> tuple:
    """Return what `Failure(*fields)` takes, in marshal-able values. Runs in the rank."""
    chain: list[tuple] = []
    link = ""
    current: BaseException | None = error
    while current is not None and len(chain) < MAX_CHAIN:
        chain.append((_frames(_stack(current)), _final_lines(current), link))
        if parts := _parts(current):
            first, stack = parts[min(parts)]
            chain.append((_frames(stack or ()), _final_lines(first), "which led to:"))
            break
        if current.__cause__ is not None:
            current, link = current.__cause__, "which led to:"
        elif current.__context__ is not None and not current.__suppress_context__:
            current, link = current.__context__, "while handling it:"
        else:
            current = None
    return (
        time_s,
        type(error).__name__,
        _text(error),
        _final_lines(error),
        tuple(reversed(chain)),
    )


def _text(error: BaseException) -> str:
    try:
        parts = _parts(error)
        return cut(_describe_parts(parts) if parts else str(error))
    except BaseException:  # the learner's own __str__ is broken
        return f"<{type(error).__name__} that cannot be shown>"


def one_line(error: BaseException) -> str:
    """Return "ValueError: text", the first line of it."""
    first, *_ = _text(error).splitlines() or [""]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def cut(text: str) -> str:
    """Return a text short enough to read: of a long one, its start and its end."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    head, tail = text[: MAX_TEXT_CHARS - TAIL_CHARS], text[-TAIL_CHARS:]
    return f"{head} … ({len(text) - MAX_TEXT_CHARS:,} characters left out) … {tail}"


def _final_lines(error: BaseException) -> str:
    if parts := _parts(error):
        return cut(f"{type(error).__module__}.{type(error).__name__}: {_describe_parts(parts)}")
    return cut("".join(traceback.format_exception_only(error)).rstrip())


def _parts(error: BaseException) -> Parts:
    """Return each rank's exception and frames of a torch.distributed.checkpoint's; else nothing."""
    api = sys.modules.get("torch.distributed.checkpoint.api")
    return error.failures if api and isinstance(error, api.CheckpointException) else {}


def _describe_parts(parts: Parts) -> str:
    """Return the first rank's exception, with all ranks that have the same; of others, how many."""
    first, *others = describe_others({rank: one_line(error) for rank, (error, _) in parts.items()})
    return first + (f"\n… ({len(others)} more of other ranks left out)" if others else "")


def _stack(error: BaseException) -> traceback.StackSummary:
    frames = traceback.walk_tb(error.__traceback__)
    return traceback.StackSummary.extract(frames, lookup_lines=False)


def _frames(stack: Iterable[traceback.FrameSummary]) -> tuple:
    """Return (file, line, function) per frame, from the learner's function inwards."""
    frames = [(frame.filename, frame.lineno or 0, frame.name) for frame in stack]
    folder = os.path.dirname(__file__)
    files = ("ranks/rank.py", "magic.py", "pictures/cell_value.py")
    ours = [os.path.join(folder, name) for name in files]
    # These stand between any two frames.
    between = tuple(os.path.join(folder, name, "") for name in ("memory", "observing"))
    frames = [frame for frame in frames if not frame[0].startswith(between)]
    while frames and frames[0][0] in (*ours, "<string>"):
        frames.pop(0)
    return tuple(frames)


def _render_frames(frames: Sequence[tuple[str, int, str]]) -> list[str]:
    """Return the frames' lines; of what calls itself again and again, and of many, only a few."""
    lines = []
    for frame, same in itertools.groupby(frames):
        count = sum(1 for _ in same)
        lines += [source.render_frame(*frame)] * min(count, MAX_SAME_FRAMES)
        if count > MAX_SAME_FRAMES:
            lines.append(f"  [Previous line repeated {count - MAX_SAME_FRAMES} more times]")
    if len(lines) > MAX_FRAMES:
        half = MAX_FRAMES // 2
        lines[half:-half] = [f"  [{len(lines) - MAX_FRAMES} more lines of this kind]"]
    return lines


def describe(failures: Mapping[int, Failure]) -> tuple[int, str]:
    """Return the culprit, and the message: its failure whole, one line for each other failure."""
    by_time = sorted(failures, key=lambda rank: (failures[rank].is_echo, failures[rank].time_s))
    likeness = failures[by_time[0]].likeness
    same = [rank for rank in failures if failures[rank].likeness == likeness]
    first = min(same)
    culprit = failures[first]
    shown = likeness if len(same) > 1 else culprit.final_lines
    lines = [f"{name_ranks(same)} raised {shown}"]
    if culprit.site:
        lines[0] += f"\n  at {source.describe(culprit.site)}"
    title = f"Traceback of rank {first}:" if len(same) > 1 else "Traceback:"
    lines += ["", title, culprit.render(), ""]
    lines += describe_others(
        {rank: failures[rank].summary for rank in failures if rank not in same}
    )
    return first, "\n".join(lines)


def describe_others(others: Mapping[int, str]) -> list[str]:
    """Return one line for all ranks that share a state: "ranks 0, 2: waited in …"."""
    by_state: dict[str, list[int]] = {}
    for rank in sorted(others):
        by_state.setdefault(others[rank], []).append(rank)
    return [f"{name_ranks(ranks)}: {state}" for state, ranks in by_state.items()]


def count_ranks(world_size: int) -> str:
    """Return "1 rank" or "3 ranks"."""
    return "1 rank" if world_size == 1 else f"{world_size} ranks"


def name_ranks(ranks: list[int]) -> str:
    """Return "rank 2", "ranks 0-3" or "ranks 0, 2, 5"."""
    ranks = sorted(ranks)
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]}-{ranks[-1]}"
    return "ranks " + ", ".join(map(str, ranks))
