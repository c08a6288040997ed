"""One look at a rank's memory: when, in which phase, how many bytes of each category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox import source
from sandbox.memory.category import CATEGORIES, Category, Phase

MAX_SAMPLES = 2000  # of a rank, in one call


@dataclass(frozen=True)
class Facts:
    """Bytes inside the categories that have a reason of their own, to explain a gap with."""

    parameters_padding: int = 0  # in parameters' storages, but of no parameter
    gradients_padding: int = 0
    step_counters: int = 0  # scalars among the optimizer's states


@dataclass(frozen=True, repr=False)
class Sample:
    """What a rank held at one moment.

    `bytes` has an entry for every category ("parameters", "gradients", …); None: not observed.
    """

    rank: int
    time_s: float  # since the call of launch
    step: int  # how many training steps were complete
    phase: Phase
    is_end: bool  # at the end of the phase; else somewhere inside it
    bytes: Mapping[Category, int | None]
    site: str | None  # "file:line" of the learner, where known
    facts: Facts = Facts()
    allocated_bytes: int | None = None  # by the GPU's allocator, rounded up; None on the CPU

    @property
    def total(self) -> int:
        """Bytes of all categories that are observed."""
        return sum(nbytes or 0 for nbytes in self.bytes.values())

    @property
    def line(self) -> str | None:
        """The site as people read it: "cell In[3], line 5"."""
        return self.site and source.describe(self.site)

    def __repr__(self) -> str:
        return source.represent(self, "site")

    def pack(self) -> tuple:
        """Return the fields as what marshal can write, the rank left out."""
        facts = (
            self.facts.parameters_padding,
            self.facts.gradients_padding,
            self.facts.step_counters,
        )
        counts = tuple(self.bytes[category] for category in CATEGORIES)
        phase = self.phase.value
        place = (self.time_s, self.step, phase, self.is_end)
        return (*place, counts, self.site, facts, self.allocated_bytes)

    @classmethod
    def unpack(cls, rank: int, fields: tuple, start_s: float) -> Sample:
        """Return what `pack` was given, its time counted from `start_s`."""
        time_s, step, phase, is_end, counts, site, facts, allocated_bytes = fields
        return cls(
            rank=rank,
            time_s=time_s - start_s,
            step=step,
            phase=Phase(phase),
            is_end=is_end,
            bytes=dict(zip(CATEGORIES, counts, strict=True)),
            site=site,
            facts=Facts(*facts),
            allocated_bytes=allocated_bytes,
        )
