"""The generations of an elastic launch: a row per rank, time to the right, ✗ where a rank died."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element

from sandbox.elastic.elastic_run import ElasticRun, Ended, Generation, name_sizes
from sandbox.errors import RankError
from sandbox.failure import count_ranks
from sandbox.faults.join import Join
from sandbox.faults.kill import Kill
from sandbox.pictures import palette, svg, time_axis
from sandbox.pictures.hover import describe_fault
from sandbox.pictures.picture import WIDTH_PX, Picture
from sandbox.units import format_time

if TYPE_CHECKING:
    from sandbox.faults.injected import Injected

HEADINGS = ("generation", "ranks", "ended")
LINE_PX = 16
HEAD_PX = LINE_PX * len(HEADINGS) + 6
ROW_PX, BETWEEN_PX = 24, 6
NARROWEST_PX = 480  # below, the headings would cover the first generation
MAX_CAUSES = 5
# What is said of an end, from the most to the least room.
ENDS = {
    Ended.FINISHED: ("✓ finished", "✓"),
    Ended.FAILED: ("✗ failed", "✗"),
    Ended.RESIZED: ("+ resized", "+"),
}


def draw_elastic(run: ElasticRun) -> Picture:
    """Return the chart of all generations; a rank's optimizer steps are lines in its row."""
    chart = _Chart(run)
    has_steps = any(any(each.run.steps) for each in run.generations)
    notes = ["A line in a rank's row is the end of an optimizer step."] if has_steps else []
    return Picture(describe(run), chart.height_px, chart.draw, notes, NARROWEST_PX)


def describe(run: ElasticRun) -> str:
    """Return what to see: how often it started, on how many ranks, and what ended each time."""
    last = run.generations[-1]
    finished = last.ended is Ended.FINISHED
    if len(run.generations) == 1:
        size = count_ranks(last.world_size)
        return f"One generation of {size}, which {'finished' if finished else _cause(last)}."
    end = "until it finished" if finished else "and gave up"
    causes = Counter(_cause(each) for each in run.generations if each.ended is not Ended.FINISHED)
    told = [f"{what} ({count} times)" if count > 1 else what for what, count in causes.items()]
    more = f"; {len(told) - MAX_CAUSES} more" if len(told) > MAX_CAUSES else ""
    return (
        f"Started {len(run.generations)} times, on {name_sizes(run.generations)}, {end}. "
        f"What ended a generation: {'; '.join(told[:MAX_CAUSES])}{more}."
    )


def _fits(words: str, width: float) -> bool:
    """Whether words fit into a fraction of the width, in the narrowest page too."""
    return (len(words) + 1) * svg.BOLD_CHARACTER_PX <= width * NARROWEST_PX


def _cause(generation: Generation) -> str:
    """Return what ended a generation that did not finish: the fault that did it, or the error."""
    injected = [repr(each.fault) for each in generation.run.faults if _is_cause(each)]
    if injected:
        return ", ".join(injected)
    return generation.reason


def _is_cause(injected: Injected) -> bool:
    return isinstance(injected.fault, Kill | Join)


class _Mark(NamedTuple):
    """What happened to a rank that ended a generation, when, and what hovering shows of it."""

    time_s: float
    symbol: str
    name: str
    title: str


def _find_marks(generation: Generation) -> dict[int, _Mark]:
    """Return per rank what it died of, or that it asked for the resize."""
    marks = {}
    for each in generation.run.faults:
        if _is_cause(each) and each.rank is not None and each.start_s is not None:
            symbol = "+" if isinstance(each.fault, Join) else "✗"
            name = type(each.fault).__name__
            time_s = generation.start_s + each.start_s
            marks[each.rank] = _Mark(time_s, symbol, name, describe_fault(each))
    error = generation.error
    if error is not None and error.rank is not None and not marks:
        name = error.exc_type if isinstance(error, RankError) else type(error).__name__
        marks[error.rank] = _Mark(generation.end_s, "✗", name, generation.reason)
    return marks


class _Chart:
    def __init__(self, run: ElasticRun) -> None:
        self.generations = run.generations
        self.num_rows = max(each.world_size for each in run.generations)
        self.end_s = max(run.generations[-1].end_s, 1e-6)

    @property
    def height_px(self) -> int:
        return self._top(self.num_rows) + time_axis.HEIGHT_PX

    def draw(self, parent: Element, pattern: str) -> None:
        for number, heading in enumerate(HEADINGS):
            svg.text(parent, heading, 0, self._line(number), font_size=svg.SMALL_PX)
        for rank in range(self.num_rows):
            svg.text(parent, f"rank {rank}", 0, self._top(rank) + 16)
        for generation in self.generations:
            self._draw_head(parent, generation)
            marks = _find_marks(generation)
            for rank in range(generation.world_size):
                self._draw_rank(parent, generation, rank, marks.get(rank))
        for generation in self.generations:  # above all boxes
            for rank, mark in _find_marks(generation).items():
                self._draw_mark(parent, generation, rank, mark)
        time_axis.draw(parent, 0.0, self.end_s, self._top(self.num_rows))

    def _draw_head(self, parent: Element, generation: Generation) -> None:
        """Say above a generation its number, its size and how it ended, as far as there is room."""
        x, width = self._extent(generation.start_s, generation.end_s)
        size = str(generation.world_size)
        said = ((str(generation.number),), (count_ranks(generation.world_size), size))
        for line, words in enumerate((*said, ENDS[generation.ended])):
            chosen = next((each for each in words if _fits(each, width)), words[-1])
            head = svg.text(parent, chosen, x + width / 2, self._line(line), anchor="middle",
                            font_size=svg.SMALL_PX)  # fmt: skip
            svg.add(head, "title").text = repr(generation)
        for edge in (x, x + width):
            svg.add(parent, "line", x1=edge, x2=edge, y1=0, y2=self._top(self.num_rows),
                    stroke="currentColor", stroke_width="0.75", stroke_dasharray="2 3")  # fmt: skip

    def _draw_rank(
        self, parent: Element, generation: Generation, rank: int, mark: _Mark | None
    ) -> None:
        """Draw when a rank ran: to its death, or until all were stopped or had finished."""
        end_s, what = generation.end_s, "was stopped"
        if mark is not None and mark.symbol == "✗":
            end_s, what = mark.time_s, "failed"
        elif generation.ended is Ended.FINISHED:
            what = "finished"
        x, width = self._extent(generation.start_s, end_s)
        top = self._top(rank)
        title = f"rank {rank} of generation {generation.number} {what} at {format_time(end_s)}"
        svg.box(parent, x, top, width, ROW_PX, palette.COMPUTE, title=title)
        drawn = set()
        for number, step_s in generation.run.steps[rank]:
            x = svg.plot((generation.start_s + step_s) / self.end_s)
            if round(x * WIDTH_PX / 2) in drawn:
                continue  # closer than two pixels
            drawn.add(round(x * WIDTH_PX / 2))
            title = f"rank {rank} of generation {generation.number}: step {number} ends"
            svg.add(parent, "line", title, x1=x, x2=x, y1=top + 5, y2=top + ROW_PX - 5,
                    stroke="currentColor", stroke_width="1")  # fmt: skip

    def _draw_mark(self, parent: Element, generation: Generation, rank: int, mark: _Mark) -> None:
        """Draw the symbol where it happened, and before it, in the rank's own box, what it was."""
        x, width = self._extent(generation.start_s, mark.time_s)
        words, anchor = mark.symbol, "middle"
        if _fits(named := f"{mark.name} {mark.symbol}", width):
            words, anchor = named, "end"
        drawn = svg.text(parent, words, x + width, self._top(rank) + 16, anchor=anchor,
                         font_weight="700", style=svg.SEAM)  # fmt: skip
        svg.add(drawn, "title").text = mark.title

    def _extent(self, start_s: float, end_s: float) -> tuple[float, float]:
        x, right = (svg.plot(time_s / self.end_s) for time_s in (start_s, end_s))
        return x, max(right - x, 1 / WIDTH_PX)

    @staticmethod
    def _line(number: int) -> int:
        return LINE_PX * (number + 1) - 4

    @staticmethod
    def _top(rank: int) -> int:
        return HEAD_PX + rank * (ROW_PX + BETWEEN_PX)
