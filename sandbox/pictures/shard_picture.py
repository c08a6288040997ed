"""Draw which rank holds which rows of a tensor: a strip per rank, padding hatched."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sandbox.palette import FONT, MEMORY, TEXT

LABEL_WIDTH = 70
STRIP_WIDTH = 560
ROW_HEIGHT = 34
CELL_HEIGHT = 24
HATCH = (
    '<pattern id="padding" width="6" height="6" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><path d="M0 0V6" style="stroke:{TEXT}"/></pattern>'
)


@dataclass(frozen=True)
class ShardPicture:
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

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        height = ROW_HEIGHT * len(self.rows)
        strips = "".join(self._strip(rank, rows) for rank, rows in enumerate(self.rows))
        return (
            f"<div><div>{escape(self.sentence)}</div>"
            f'<svg role="img" aria-label="{escape(self.sentence)}" width="100%" '
            f'viewBox="0 0 {LABEL_WIDTH + STRIP_WIDTH + 10} {height}" style="max-width:640px;'
            f'font-family:{FONT};font-size:13px;fill:{TEXT}"><defs>{HATCH}</defs>{strips}</svg></div>'
        )

    def _strip(self, rank: int, rows: range) -> str:
        top = rank * ROW_HEIGHT + 4
        cells = "".join(
            self._cell(top, place, rows[place] if place < len(rows) else None)
            for place in range(self._share)
        )
        return f'<text x="0" y="{top + 17}">rank {rank}</text>{cells}'

    def _cell(self, top: int, place: int, row: int | None) -> str:
        width = STRIP_WIDTH / max(1, self._share)
        left = LABEL_WIDTH + place * width
        fill = "url(#padding)" if row is None else MEMORY["parameters"]
        box = (
            f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{CELL_HEIGHT}" '
            f'style="fill:{fill};stroke:{TEXT}"/>'
        )
        if row is None:
            return box
        middle = left + width / 2
        return (
            f'{box}<text x="{middle:.1f}" y="{top + 17}" text-anchor="middle" '
            f'style="fill:#fff">{row}</text>'
        )
