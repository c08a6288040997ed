"""What there is to see in a run's timeline, in words: who waits longest, and how much overlaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sandbox.event import Event, Op
from sandbox.failure import name_ranks
from sandbox.pictures.spans import Window, busy_s, wait_of
from sandbox.pictures.view import View
from sandbox.units import format_time

Interval = tuple[float, float]


def summarize(
    events: Iterable[Event],
    world_size: int,
    view: View,
    window: Window,
    run_end_s: float,
    pauses: Mapping[int, Sequence[Interval]],
) -> str:
    """Return the sentences for the events of a window; waits are those with nothing else done.

    In its pauses a rank does not compute, nor is it seen to wait.
    """
    shown: dict[int, list[Event]] = defaultdict(list)
    waits: dict[int, dict[Op, list[Interval]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if view.shows(event.rank, event.op):
            shown[event.rank].append(event)
        wait = wait_of(event, run_end_s)
        if wait is not None:
            waits[event.rank][event.op].append(wait)
    chosen = [rank for rank in range(world_size) if view.shows(rank)]
    what = view.op.value if view.op else "collective"
    if not shown:
        return f"{_place(chosen, view)}: no {what}s here."
    numbers = sorted({len(of_rank) for of_rank in shown.values()})
    number = " to ".join(f"{n:,}" for n in dict.fromkeys((numbers[0], numbers[-1])))
    plural = "" if numbers == [1] else "s"
    each = "" if len(shown) == 1 else " each"
    idle = [rank for rank in chosen if rank not in shown]
    rest = f"; {name_ranks(idle)}: none" if idle else ""
    return (
        f"{_place(list(shown), view)}: {number} {what}{plural}{each} in "
        f"{format_time(window.length_s)}{rest}. "
        f"{_tell_waits(shown, waits, view, window)}{_tell_overlap(shown, waits, window, pauses)}"
    )


def _place(ranks: list[int], view: View) -> str:
    where = name_ranks(ranks)
    return where.capitalize() if view.step is None else f"Step {view.step}, {where}"


def _tell_waits(
    shown: dict[int, list[Event]],
    waits: dict[int, dict[Op, list[Interval]]],
    view: View,
    window: Window,
) -> str:
    waited_s = {}
    for rank in sorted(shown):
        chosen = [w for op, own in waits[rank].items() if view.shows(rank, op) for w in own]
        waited_s[rank] = busy_s(chosen, window)
    most = max(waited_s, key=lambda rank: waited_s[rank])
    if not waited_s[most]:
        return "No rank waits." if len(shown) > 1 else "It never waits."
    by_op = {op: busy_s(own, window) for op, own in waits[most].items() if view.shows(most, op)}
    worst = max(by_op, key=lambda op: (by_op[op], op.value))
    mostly = "" if len(by_op) == 1 else f", mostly in {worst.value}"
    who = f"Rank {most} waits longest" if len(shown) > 1 else "It waits"
    part = f"{100 * waited_s[most] / window.length_s:.0f} %"
    return f"{who}: {format_time(waited_s[most])} ({part}){mostly}."


def _tell_overlap(
    shown: dict[int, list[Event]],
    waits: dict[int, dict[Op, list[Interval]]],
    window: Window,
    pauses: Mapping[int, Sequence[Interval]],
) -> str:
    """Say how much of the time in which something was in flight its rank went on computing."""
    in_all_s = hidden_s = 0.0
    for rank, events in shown.items():
        flights = [(e.start_s, e.end_s) for e in events if e.is_async and e.end_s is not None]
        idle = [wait for own in waits[rank].values() for wait in own] + list(pauses.get(rank, ()))
        in_all_s += busy_s(flights, window)
        hidden_s += busy_s(flights + idle, window) - busy_s(idle, window)
    if not in_all_s:
        return ""
    return f" {100 * hidden_s / in_all_s:.0f} % of the asynchronous time overlaps computing."
