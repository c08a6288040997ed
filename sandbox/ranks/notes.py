"""What is said of a call that ended well: faults that did not happen, work nobody waited for."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.failure import name_ranks
from sandbox.faults.fault import Fault
from sandbox.journal import Journal
from sandbox.proving.wording import describe_site

WAIT_HINT = "keep the handle that such a call returns, and wait() before its tensors are used."


def describe_notes(journal: Journal, faults: Sequence[Fault], *, names_missed: bool) -> str:
    """Return one line for each thing, or nothing."""
    happened = [each.fault for each in journal.injected(faults)]
    missed = [fault for fault in faults if fault.tells and fault not in happened]
    lines = [f"Did not happen: {', '.join(map(repr, missed))}."] if missed and names_missed else []
    dropped = [
        f"{op}{describe_site(site)} ({name_ranks(ranks)})"
        for (op, site), ranks in journal.unwaited().items()
    ]
    if dropped:
        lines.append(f"Never waited for: {', '.join(dropped)}. Hint: {WAIT_HINT}")
    return "".join(f"{line}\n" for line in lines)
