"""Who waits for whom: ranks as boxes, an arrow to each that is waited for, the culprit marked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from sandbox.failure import name_ranks
from sandbox.pictures import paragraph, svg
from sandbox.pictures.picture import Picture

if TYPE_CHECKING:
    from sandbox.errors import ProvenError
    from sandbox.proving.wait_for import WaitFor

BOX_PX, BOX_HEIGHT_PX = 92, 26
ROW_PX = 48
TOP_PX = 10  # three lines beside a box are higher than it
FIRST_LANE_PX = BOX_PX + 18
LANE_PX = 13
TEXT_LINES = 3
MAX_BOXES = 8  # beyond, ranks that wait alike share one
CULPRIT = "✗"


def picture_of(error: ProvenError) -> Picture | None:
    """Return the graph of an error, None of one that does not know who waits for whom."""
    if not error.waits:
        return None
    world_size = error.run.world_size if error.run else 0
    return draw_waits(error.message.partition("\n")[0], error.waits, error.rank, world_size)


def draw_waits(
    sentence: str, waits: Sequence[WaitFor], culprit: int | None, world_size: int = 0
) -> Picture:
    """Return the graph: of all ranks if they are few, else of those that wait or are waited for."""
    graph = _Graph(waits, culprit, world_size)
    return Picture(sentence, ROW_PX * len(graph.boxes) + TOP_PX, graph.draw)


class _Graph:
    def __init__(self, waits: Sequence[WaitFor], culprit: int | None, world_size: int) -> None:
        self.culprit = culprit
        self.texts: dict[int, list[str]] = defaultdict(list)
        self.targets: dict[int, set[int]] = defaultdict(set)
        for wait in waits:
            self.texts[wait.rank].append(wait.text)
            self.targets[wait.rank] |= set(wait.waits_for)
        ranks = set(self.texts) | set().union(*self.targets.values())
        ranks |= {culprit} if culprit is not None else set()
        if world_size <= MAX_BOXES:
            ranks |= set(range(world_size))
        self.boxes = self._group(sorted(ranks))
        self.row_of = {rank: row for row, box in enumerate(self.boxes) for rank in box}
        reached = sorted({self.row_of[t] for targets in self.targets.values() for t in targets})
        self.lane_of = {row: FIRST_LANE_PX + n * LANE_PX for n, row in enumerate(reached)}
        self.text_px = FIRST_LANE_PX + LANE_PX * len(reached) + 4

    def _group(self, ranks: list[int]) -> list[list[int]]:
        """Return the ranks of each box."""
        if len(ranks) <= MAX_BOXES:
            return [[rank] for rank in ranks]
        alike: dict[tuple, list[int]] = {}
        for rank in ranks:
            targets = tuple(sorted(self.targets[rank]))
            alike.setdefault((rank == self.culprit, targets, *self.texts[rank]), []).append(rank)
        return list(alike.values())

    def draw(self, parent: Element, pattern: str) -> None:
        place = svg.in_pixels(parent, 0.0, TOP_PX)
        for row, lane in self.lane_of.items():
            self._draw_arrows(place, row, lane)
        for row, box in enumerate(self.boxes):
            self._draw_box(place, row, box, pattern)

    def _draw_box(self, place: Element, row: int, box: list[int], pattern: str) -> None:
        texts = self.texts[box[0]]
        is_culprit = self.culprit in box
        top = row * ROW_PX
        outline: dict[str, Any] = {"x": 1, "y": top, "width": BOX_PX, "height": BOX_HEIGHT_PX}
        if texts:  # it waits
            svg.add(place, "rect", fill=f"url(#{pattern})", opacity="0.45", **outline)
        width = "3" if is_culprit else "1"
        svg.add(place, "rect", "\n".join(texts), fill="none", pointer_events="all",
                stroke="currentColor", stroke_width=width, **outline)  # fmt: skip
        name = f"{CULPRIT} {name_ranks(box)}" if is_culprit else name_ranks(box)
        svg.text(
            place, name, 1 + BOX_PX // 2, top + 17, anchor="middle",
            font_weight="700" if is_culprit else "400",
            style=svg.SEAM,
        )  # fmt: skip
        words = " · ".join(dict.fromkeys(texts)) or "waits for nobody"
        paragraph.write(place, words, self.text_px, top - 8, TEXT_LINES)

    def _draw_arrows(self, place: Element, target: int, lane: int) -> None:
        """Draw one line down the lane of a box that is waited for, joined by all that wait."""
        end = target * ROW_PX + BOX_HEIGHT_PX // 2 - 5
        edge = BOX_PX + 1
        names = name_ranks(self.boxes[target])
        for row, box in enumerate(self.boxes):
            if not self._waits(box[0], target) or row == target:
                continue
            start = row * ROW_PX + BOX_HEIGHT_PX // 2 + 5
            title = f"{name_ranks(box)} waits for {names}"
            svg.add(place, "path", title, d=f"M{edge} {start}H{lane}V{end}H{edge + 7}",
                    fill="none", stroke="currentColor", stroke_width="1.5")  # fmt: skip
        svg.add(place, "path", d=f"M{edge} {end}l9 -5v10z", fill="currentColor")

    def _waits(self, rank: int, target: int) -> bool:
        return bool(self.targets[rank] & set(self.boxes[target]))
