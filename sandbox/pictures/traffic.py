"""What each rank sends, by operation: a bar per rank, under the ring algorithms."""

from __future__ import annotations

from collections import defaultdict
from xml.etree.ElementTree import Element

from sandbox.event import Op
from sandbox.failure import name_ranks
from sandbox.ledger import Ledger
from sandbox.pictures import key, palette, svg
from sandbox.pictures.picture import Picture
from sandbox.pictures.timeline import PALE
from sandbox.pictures.view import Steps, View
from sandbox.ring import ring_bytes
from sandbox.units import format_bytes

ROW_PX = 26
BAR_PX = 20
TOTALS = 0.17  # of the width, for the totals at the right

Sent = dict[Op, float]


def draw_traffic(
    ledger: Ledger, world_size: int, steps: Steps = (), view: View | None = None
) -> Picture:
    """Return the bars of the events of a run, or of those that were issued in the view's step."""
    view = view or View()
    sent: list[Sent] = [defaultdict(float) for _ in range(world_size)]
    for event in ledger:
        if view.includes(event, steps):
            sent[event.rank][event.op] += float(ring_bytes(event))
    sent = [{op: n for op, n in sorted(of.items(), key=_by_name) if n} for of in sent]
    entries = key.of_operations(op for of_rank in sent for op in of_rank)
    top = key.height_px(entries) if entries else 0

    def draw(parent: Element, pattern: str) -> None:
        if entries:
            key.draw(parent, "sends", entries, pattern)
        widest = max((sum(of_rank.values()) for of_rank in sent), default=0.0)
        for rank, of_rank in enumerate(sent):
            opacity = {} if view.shows(rank) else {"opacity": PALE}
            place = f"translate(0 {top + rank * ROW_PX})"
            row = svg.add(parent, "g", transform=place, **opacity)
            _draw_rank(row, rank, of_rank, widest, view, pattern)

    return Picture(_sentence(sent, view), top + world_size * ROW_PX, draw)


def _draw_rank(
    row: Element, rank: int, sent: Sent, widest: float, view: View, pattern: str
) -> None:
    svg.text(row, f"rank {rank}", 0, 15)
    x, room = svg.LEFT, svg.RIGHT - svg.LEFT - TOTALS
    for op, nbytes in sent.items():
        width, fill = room * nbytes / widest, palette.of_operation(op)
        place = row if view.op in (None, op) else svg.add(row, "g", opacity=PALE)
        title = f"rank {rank}: {op.value} sends {nbytes:,.0f} bytes"
        svg.box(place, x, 1, width, BAR_PX, fill, title=title)
        svg.cover(place, x, 1, width, BAR_PX, pattern, palette.texture_of(op))
        for words in (f"{op.value} {format_bytes(nbytes)}", format_bytes(nbytes)):
            if svg.fits(words, width):
                svg.label(place, words, x + width / 2, 15, fill)
                break
        x += width
    total = sum(sent.values())
    text = svg.text(row, format_bytes(total), svg.RIGHT, 15, anchor="end")
    svg.add(text, "title").text = f"rank {rank} sends {total:,.0f} bytes in all"


def _sentence(sent: list[Sent], view: View) -> str:
    chosen = {
        rank: {op: n for op, n in of_rank.items() if view.shows(rank, op)}
        for rank, of_rank in enumerate(sent)
        if view.shows(rank)
    }
    totals = {rank: sum(of_rank.values()) for rank, of_rank in chosen.items()}
    most = max(totals, key=lambda rank: totals[rank])
    if not totals[most]:
        return "Nothing is sent."
    parts = ", ".join(f"{op.value} {format_bytes(n)}" for op, n in chosen[most].items())
    if len(set(totals.values())) == 1:
        who = "Each rank" if len(totals) > 1 else f"Rank {most}"
        head = f"{who} sends {format_bytes(totals[most])}"
    else:
        alike = name_ranks([rank for rank, total in totals.items() if total == totals[most]])
        send = "sends" if alike.startswith("rank ") else "send"
        head = f"{alike.capitalize()} {send} most, {format_bytes(totals[most])}"
    return f"{head} (counted as ring algorithms do): {parts}."


def _by_name(item: tuple[Op, float]) -> str:
    return item[0].value
