"""A monitor that was fed the records of made-up ranks."""

from __future__ import annotations

import itertools

from simulated_ranks import ALL_REDUCE, Groups, Step, World

from sandbox.observing.record import Call
from sandbox.proving.monitor import Monitor


def run_to_the_end(groups: Groups, *programs: list[str]) -> tuple[Monitor, World]:
    world = World(groups, [[[Step(gid) for gid in program]] for program in programs])
    world.run(itertools.repeat(0))
    monitor = Monitor(len(programs))
    for rank, records in world.records:
        for record in records:
            monitor.feed(rank, record)
    for rank in set(range(len(programs))) - world.stuck:
        monitor.finished(rank)
    return monitor, world


def issue(
    monitor: Monitor,
    rank: int,
    number: int,
    gid: str,
    seq: int,
    *,
    time_s: float,
    call: Call = ALL_REDUCE,
    site: str | None = None,
    waits: tuple[int, tuple[int, ...]] | None = None,
) -> None:
    """Let `rank` issue a collective, and be blocked in it where `waits` says by which thread."""
    is_async = waits is None
    monitor.feed(rank, ("issue", number, gid, seq, is_async, tuple(call), site, time_s))
    if waits:
        monitor.feed(rank, ("wait", number, gid, seq, waits))


def feed_calls(*calls: Call) -> Monitor:
    monitor = Monitor(len(calls))
    ranks = tuple(range(len(calls)))
    for rank, call in enumerate(calls):
        monitor.feed(rank, ("group", "g", ranks))
        issue(monitor, rank, 0, "g", 1, time_s=1.0, call=call, site=f"t.py:{rank}")
    return monitor
