"""What an elastic launch returns: its generations, how each ended, and the last one's results."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox.errors import SandboxError
from sandbox.failure import count_ranks
from sandbox.faults.join import Join
from sandbox.run import Run

if TYPE_CHECKING:
    from sandbox.pictures.picture import Picture

MAX_SIZES = 10


class Ended(enum.StrEnum):
    """How a generation ended."""

    FINISHED = "finished"
    FAILED = "failed"
    RESIZED = "resized"


@dataclass(frozen=True, repr=False)
class Generation:
    """One start of the function on all ranks: its number, its size, and how it went."""

    number: int
    world_size: int
    restart_count: int  # failures before it: torchrun's TORCHELASTIC_RESTART_COUNT
    ended: Ended
    error: SandboxError | None  # what ended it, if it failed
    run: Run
    start_s: float  # since the first generation started

    @property
    def end_s(self) -> float:
        """When it was over, in seconds since the first generation started."""
        return self.start_s + self.run.duration_s

    @property
    def reason(self) -> str:
        """What ended it, in one line; nothing where it finished."""
        if self.ended is Ended.RESIZED:
            return next(repr(f.fault) for f in self.run.faults if isinstance(f.fault, Join))
        return self.error.message.partition("\n")[0].rstrip(".") if self.error else ""

    def __repr__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"Generation {self.number} ({count_ranks(self.world_size)}) {self.ended}{reason}"


@dataclass(frozen=True, repr=False)
class ElasticRun:
    """All generations of one elastic launch, in order."""

    generations: tuple[Generation, ...]
    duration_s: float

    @property
    def results(self) -> list[Any]:
        """What each rank of the last generation returned; None where it did not."""
        return self.generations[-1].run.results

    def __repr__(self) -> str:
        num = len(self.generations)
        parts = [name_sizes(self.generations), f"{num} generation{'s' if num > 1 else ''}"]
        for ended in (Ended.FAILED, Ended.RESIZED):
            count = sum(each.ended is ended for each in self.generations)
            parts += [f"{count} {ended}"] if count else []
        return f"ElasticRun({', '.join(parts)}, {self.duration_s:.3g} s)"

    @property
    def picture(self) -> Picture:
        """The generations over time; a notebook shows it."""
        from sandbox.pictures.elastic_picture import draw_elastic

        return draw_elastic(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from sandbox.pictures.picture import bundle

        return bundle([self.picture], repr(self))


def name_sizes(generations: Sequence[Generation]) -> str:
    """Return "4 ranks", or "4 → 3 → 4 ranks" where it changed; of many, the first and the last."""
    sizes = [str(each.world_size) for each in generations]
    if len(set(sizes)) == 1:
        return count_ranks(generations[0].world_size)
    if len(sizes) > MAX_SIZES:
        sizes[MAX_SIZES - 2 : -1] = ["…"]
    return f"{' → '.join(sizes)} ranks"
