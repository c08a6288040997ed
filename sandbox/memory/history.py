"""What the ranks of one run held over time: samples, peaks, and the gap to a prediction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sandbox import source
from sandbox.failure import name_ranks
from sandbox.memory.category import CATEGORIES, Phase
from sandbox.memory.sample import MAX_SAMPLES, Sample
from sandbox.units import format_bytes

if TYPE_CHECKING:
    from sandbox.memory.comparison import Comparison
    from sandbox.memory.model_states import ModelStates

NOT_OBSERVED = (
    "what an operator needs inside its C++ kernel and frees again before it returns",
    "what gloo or NCCL itself needs to send and receive",
    "activations in other threads than the function's own and autograd's",
    "the process itself: Python, its modules, and what the allocator keeps free",
)


class Memory:
    """The samples of all ranks, in the order in which they were taken.

    A storage counts once, with all its bytes, however many tensors are views of it.
    """

    def __init__(
        self,
        samples: Iterable[Sample],
        peaks: Iterable[Sample] = (),
        world_size: int | None = None,  # of the run, where it is known
    ) -> None:
        self.world_size = world_size
        self.samples = tuple(sorted(samples, key=lambda sample: (sample.time_s, sample.rank)))
        self._peaks = {peak.rank: peak for peak in peaks}  # a later one is higher

    @classmethod
    def of(cls, records: Iterable[tuple[int, tuple]], start_s: float, world_size: int) -> Memory:
        """Return the history that the ranks' records tell: (rank, (kind, *packed sample))."""
        found: dict[str, list[Sample]] = {"sample": [], "peak": []}
        for rank, (kind, *fields) in records:
            found[kind].append(Sample.unpack(rank, tuple(fields), start_s))
        return cls(found["sample"], found["peak"], world_size)

    @property
    def not_observed(self) -> tuple[str, ...]:
        """What these numbers leave out, in words; a category that is not observed is None."""
        full = [rank for rank in self.ranks if len(self.of_rank(rank)) >= MAX_SAMPLES]
        late = f"what {name_ranks(full)} held after {MAX_SAMPLES:,} samples, except for the peak"
        return NOT_OBSERVED + ((late,) if full else ())

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that have samples."""
        return tuple(sorted({sample.rank for sample in self.samples}))

    def of_rank(self, rank: int) -> tuple[Sample, ...]:
        """Return the samples of one rank; ValueError where it has none."""
        found = tuple(sample for sample in self.samples if sample.rank == rank)
        if not found:
            raise ValueError(f"no samples of rank {rank}, only of {list(self.ranks)}.")
        return found

    def at(self, phase: Phase | str, rank: int = 0, step: int | None = None) -> Sample:
        """Return the sample at the end of a phase ("init", "forward", "loss", "backward", "step").

        Of several, the last one; with `step`, the last one of that step, counted from 0. ValueError
        where there is none.
        """
        ends = [sample for sample in self.of_rank(rank) if sample.is_end]
        found = [s for s in ends if s.phase == Phase(phase) and step in (None, s.step)]
        if not found:
            seen = ", ".join(dict.fromkeys(f"{s.phase} of step {s.step}" for s in ends))
            of_step = "" if step is None else f" of step {step}"
            raise ValueError(
                f"rank {rank} has no sample at the end of {Phase(phase)}{of_step}; "
                f"it has: {seen or 'none'}."
            )
        return found[-1]

    def peak(self, rank: int = 0) -> Sample:
        """Return the moment at which the rank held most; its `site` is the line that led there."""
        candidates = [*self.of_rank(rank)]
        if rank in self._peaks:
            candidates.insert(0, self._peaks[rank])
        return max(candidates, key=lambda sample: sample.total)

    def describe_peak(self, rank: int = 0) -> str:
        """Return how much the rank held at most, of what, in which phase, on which line."""
        peak = self.peak(rank)
        parts = [
            f"{category} {format_bytes(peak.bytes[category] or 0)}"
            for category in CATEGORIES
            if peak.bytes[category]
        ]
        where = f" at {source.describe(peak.site)}" if peak.site else ""
        return f"peak {format_bytes(peak.total)} in {peak.phase}{where}: {', '.join(parts)}"

    def compare(self, prediction: ModelStates, rank: int = 0) -> Comparison:
        """Return prediction, measurement and gap by category, with the reasons in words."""
        from sandbox.memory.comparison import compare

        return compare(self, prediction, rank)

    def __repr__(self) -> str:
        if not self.samples:
            return "Memory(no samples)"
        highest = max(self.ranks, key=lambda rank: self.peak(rank).total)
        peak = self.describe_peak(highest)
        alike = [rank for rank in self.ranks if self.describe_peak(rank) == peak]
        return f"Memory({name_ranks(alike)}: {peak})"
