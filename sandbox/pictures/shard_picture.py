"""Draw which rank holds which rows of a tensor: a strip per rank, padding hatched."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from sandbox.pictures import svg
from sandbox.pictures.palette import MEMORY
from sandbox.pictures.picture import Drawn, Picture

ROW_PX = 34
CELL_PX = 24


@dataclass(frozen=True, repr=False)
class ShardPicture(Drawn):
    """The rows of each rank; all strips are as long as the longest, the rest is padding."""

    rows: Sequence[range]

    @property
    def sentence(self) -> str:
        """Say what there is to see; also the picture's plain form."""
        lengths = ", ".join(str(len(rows)) for rows in self.rows)
        return (
            f"{sum(map(len, self.rows))} rows on {len(self.rows)} ranks, by rank: {lengths}. "
            f"A gather moves {self._share * len(self.rows)}."
        )

    @property
    def _share(self) -> int:
        return max(len(rows) for rows in self.rows)

    def picture(self) -> Picture:
        """Return the drawing: a strip per rank."""
        return Picture(self.sentence, ROW_PX * len(self.rows), self._draw)

    def _draw(self, parent: Element, pattern: str) -> None:
        for rank, rows in enumerate(self.rows):
            strip = svg.add(parent, "g", transform=f"translate(0 {rank * ROW_PX + 4})")
            svg.text(strip, f"rank {rank}", 0, 17)
            for place in range(self._share):
                _draw_cell(strip, place / self._share, 1 / self._share, pattern, rows[place:])


def _draw_cell(strip: Element, left: float, width: float, pattern: str, rows: range) -> None:
    """Draw the first of the rows that are left, or padding where none is."""
    x, width = svg.plot(left), width * (svg.RIGHT - svg.LEFT)
    if not rows:
        svg.box(strip, x, 0, width, CELL_PX, f"url(#{pattern})")
        return
    fill = MEMORY["parameters"]
    svg.box(strip, x, 0, width, CELL_PX, fill, title=f"row {rows[0]}")
    if svg.fits(str(rows[0]), width):
        svg.label(strip, str(rows[0]), x + width / 2, 17, fill)
