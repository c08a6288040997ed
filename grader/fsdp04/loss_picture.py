"""Draw the losses of a run in generations over those of the uninterrupted one, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from sandbox.elastic.elastic_run import ElasticRun, Ended
from sandbox.failure import count_ranks
from sandbox.pictures import svg
from sandbox.pictures.elastic_picture import ENDS
from sandbox.pictures.palette import COMPUTE, MEMORY
from sandbox.pictures.picture import Drawn, Picture, bundle

CURVE_PX, AXIS_PX, ROW_PX, BOX_PX = 150, 26, 26, 20


@dataclass(frozen=True)
class Stretch:
    """The steps that one generation completed, from `first` on: their losses, and how it ended."""

    first: int
    losses: Sequence[float]
    world_size: int
    ended: Ended


@dataclass(frozen=True, repr=False)
class LossPicture(Drawn):
    """The uninterrupted run's loss as a line, the generations' as dots, and a row for each."""

    uninterrupted: Sequence[float]
    stretches: Sequence[Stretch]
    run: ElasticRun

    @property
    def sentence(self) -> str:
        """Say how far apart the losses are, and how many steps were done again."""
        gaps = [abs(loss - self.uninterrupted[step]) for _, step, loss in self._points()]
        num_again = len(gaps) - len({step for _, step, _ in self._points()})
        gap = max(gaps, default=0.0)
        return (
            f"{len(self.uninterrupted)} steps in {len(self.stretches)} generations, {num_again} of "
            f"them done twice. The losses (dots) are those of the uninterrupted run (line): they "
            f"differ by at most {gap:.1g}."
        )

    def _points(self) -> list[tuple[int, int, float]]:
        """Return (generation, step, loss) of every step that was completed."""
        return [
            (number, stretch.first + place, loss)
            for number, stretch in enumerate(self.stretches)
            for place, loss in enumerate(stretch.losses)
        ]

    def picture(self) -> Picture:
        """Return the drawing: the curve, and below it a row per generation."""
        height = CURVE_PX + AXIS_PX + ROW_PX * len(self.stretches)
        return Picture(self.sentence, height, self._draw)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return bundle([self.picture(), self.run.picture], repr(self))

    def _x(self, step: float) -> float:
        return (step + 0.5) / len(self.uninterrupted)

    def _y(self, loss: float) -> int:
        low, high = min(self.uninterrupted), max(self.uninterrupted)
        share = (loss - low) / (high - low) if high > low else 0.5
        return 10 + round((CURVE_PX - 24) * (1 - min(max(share, 0.0), 1.0)))

    def _draw(self, parent: Element, _: str) -> None:
        svg.text(parent, "loss", 0, CURVE_PX // 2)
        for loss in (max(self.uninterrupted), min(self.uninterrupted)):
            svg.text(parent, f"{loss:.2f}", svg.LEFT - 0.01, self._y(loss) + 4, anchor="end",
                     font_size=svg.SMALL_PX)  # fmt: skip
        area = svg.stretched(parent, 0, CURVE_PX)
        places = [(1000 * self._x(n), self._y(loss)) for n, loss in enumerate(self.uninterrupted)]
        path = "M" + " L".join(f"{x:.1f} {y}" for x, y in places)
        svg.add(area, "path", "the uninterrupted run", d=path, fill="none",
                stroke=MEMORY["parameters"], stroke_width="4", stroke_linejoin="round",
                vector_effect="non-scaling-stroke")  # fmt: skip
        for number, step, loss in self._points():
            title = f"generation {number}, step {step}: loss {loss:.6g}"
            svg.add(parent, "circle", title, cx=svg.plot(self._x(step)), cy=self._y(loss), r=4,
                    fill=MEMORY["gradients"], stroke="currentColor")  # fmt: skip
        self._draw_axis(parent)
        for number, stretch in enumerate(self.stretches):
            top = CURVE_PX + AXIS_PX + number * ROW_PX
            self._draw_row(svg.add(parent, "g", transform=f"translate(0 {top})"), number, stretch)

    def _draw_axis(self, parent: Element) -> None:
        svg.add(parent, "line", x1=svg.plot(0.0), x2=svg.plot(1.0), y1=CURVE_PX, y2=CURVE_PX,
                stroke="currentColor")  # fmt: skip
        svg.text(parent, "step", 0, CURVE_PX + 16)
        every = max(1, len(self.uninterrupted) // 8)
        for step in range(0, len(self.uninterrupted), every):
            svg.text(parent, f"{step}", svg.plot(self._x(step)), CURVE_PX + 16, anchor="middle",
                     font_size=svg.SMALL_PX)  # fmt: skip

    def _draw_row(self, row: Element, number: int, stretch: Stretch) -> None:
        svg.text(row, count_ranks(stretch.world_size), 0, 15)
        start = svg.plot(self._x(stretch.first - 0.5))
        stop = svg.plot(self._x(stretch.first + len(stretch.losses) - 0.5))
        title = f"generation {number}, {stretch.ended}"
        if stretch.losses:
            svg.box(row, start, 0, stop - start, BOX_PX, COMPUTE, title=title)
        *_, symbol = ENDS[stretch.ended]
        end = svg.text(row, symbol, stop, 15, anchor="end" if stop > 0.95 else "start",
                       font_weight="700", style=svg.SEAM)  # fmt: skip
        svg.add(end, "title").text = title
