"""What a rank is doing, or how it ended and what it did last, in words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence

from sandbox import source
from sandbox.failure import name_ranks
from sandbox.faults.fault import Fault
from sandbox.faults.slow_link import SlowLink
from sandbox.journal import Journal
from sandbox.proving.monitor import Monitor
from sandbox.proving.wording import describe_site
from sandbox.ranks.member import Member, State


def describe_state(member: Member, monitor: Monitor, faults: Sequence[Fault]) -> str:
    """Return what a rank is doing that has neither failed nor died, in one line."""
    if not member.is_busy:
        return "returned" if member.state is State.RETURNED else "not called"
    names, waits = _late_by_links(member.rank, monitor, faults)
    if waits:
        return f"waiting for a slow link to deliver {names}"
    if state := monitor.waiting(member.rank):
        return state
    if member.is_stopped:
        return "stopped (SIGSTOP)"
    state = f"running {source.describe(member.site)}" if member.site else "still running"
    return f"{state}; a slow link still carries {names}" if names else state


def _late_by_links(rank: int, monitor: Monitor, faults: Sequence[Fault]) -> tuple[str, bool]:
    """Name what slow links have not delivered yet, and say whether the rank waits for it.

    Of what it waits for, only that: the rest comes later, and hinders nobody.
    """
    slow = [fault for fault in faults if isinstance(fault, SlowLink)]
    journal = monitor.journal
    late = [
        (f"{journal.name(issue)}{describe_site(issue.site)}", waits)
        for issue, waits in monitor.undelivered(rank)
        if any(fault.carries(issue.call, journal.ranks_of(issue.gid), rank) for fault in slow)
    ]
    awaited = [name for name, waits in late if waits]
    return ", ".join(awaited or [name for name, _ in late]), bool(awaited)


def describe_deaths(dead: list[Member], killed: Collection[int | None], journal: Journal) -> str:
    """Say how processes ended: "ranks 0, 1 were killed by SIGSEGV before the call was over."

    And what they had issued last, as no rank says where it died. What may lie behind it is left out
    of those that were `killed` by a fault of the call.
    """

    def tell_end(member: Member) -> str:
        how = member.ended or ""
        return how.partition(" (")[0] if member.rank in killed else how

    def tell_last(member: Member) -> str:
        last = journal.last(member.rank)
        if last is None:
            return "first operation was still to come."
        return f"last operation: {journal.name(last)}{describe_site(last.site)}"

    lines = []
    for how, group in itertools.groupby(dead, key=tell_end):
        members = list(group)
        ranks = [member.rank for member in members]
        verb = how if len(ranks) == 1 else re.sub(r"^was\b", "were", how)
        lines.append(f"{name_ranks(ranks)} {verb} before the call was over.")
        for last, alike in itertools.groupby(members, key=tell_last):
            some = [member.rank for member in alike]
            whose = (
                "Its" if len(ranks) == 1 else "Their" if some == ranks else f"{name_ranks(some)}:"
            )
            lines.append(f"  {whose} {last}")
    return "\n".join(lines)
