"""Made-up ranks that send and receive: a scheduler that matches messages, and knows no proofs.

As on gloo, a send is complete once it has met a recv, and not before. The simulation says which
ranks end up blocked, and yields the records that real ranks would have published on the way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.observing.record import Call


class Step(NamedTuple):
    """A send or recv (from any source if `peer` is None); an asynchronous one is never waited for.

    A step without `op` is a barrier of all ranks.
    """

    op: str
    peer: int | None = None
    tag: int = 0
    is_async: bool = False


@dataclass
class Posted:
    """A call that has begun."""

    rank: int
    step: Step
    number: int
    is_complete: bool = False


@dataclass
class World:
    """All ranks, each with a program of steps."""

    programs: Sequence[list[Step]]
    rng: random.Random
    records: list[tuple[int, tuple]] = field(default_factory=list)

    def run(self) -> set[int]:
        """Run until no rank can move; return those that are blocked."""
        size = len(self.programs)
        self.todo = [list(program) for program in self.programs]
        self.awaits: list[Posted | None] = [None] * size
        self.has_told = [False] * size
        self.posted: list[Posted] = []
        self.num_barriers = [0] * size
        self.num_calls = [0] * size
        for rank in range(size):
            self.records.append((rank, ("group", "g", tuple(range(size)))))
        while movable := [rank for rank in range(size) if self._can_move(rank)]:
            self._move(self.rng.choice(movable))
        return {rank for rank in range(size) if self.awaits[rank]}

    def _can_move(self, rank: int) -> bool:
        awaited = self.awaits[rank]
        if awaited:
            return awaited.is_complete or not self.has_told[rank]
        return bool(self.todo[rank])

    def _move(self, rank: int) -> None:
        awaited = self.awaits[rank]
        if awaited is None:
            self._post(rank, self.todo[rank].pop(0))
            return
        if awaited.is_complete:
            self.awaits[rank] = None
            self._publish(rank, "end", awaited.number, self._now(), rank)
        else:
            self.has_told[rank] = True
            seq = None if awaited.step.op else self.num_barriers[rank]
            self._publish(rank, "wait", awaited.number, "g", seq, (rank, ()))

    def _post(self, rank: int, step: Step) -> None:
        posted = Posted(rank, step, self.num_calls[rank])
        self.num_calls[rank] += 1
        seq = None
        call = Call("barrier", (), 0, "", 0)
        if step.op:
            call = Call(step.op, (4,), 4, "float32", 4, root=step.peer, tag=step.tag)
        else:
            self.num_barriers[rank] += 1
            seq = self.num_barriers[rank]
        site = f"train.py:{rank}"
        issue = ("issue", posted.number, "g", seq, step.is_async, tuple(call), site, self._now())
        self._publish(rank, *issue)
        self.posted.append(posted)
        self._match(posted)
        if not step.is_async:
            self.awaits[rank], self.has_told[rank] = posted, False

    def _match(self, posted: Posted) -> None:
        if not posted.step.op:
            number = self.num_barriers[posted.rank]
            if min(self.num_barriers) >= number:
                for other in self.posted:
                    other.is_complete |= not other.step.op
            return
        partners = [other for other in self.posted if _meet(posted, other)]
        if not partners:
            return
        # Messages of one rank arrive in order; which rank's comes first is chance.
        firsts = {partner.rank: partner for partner in reversed(partners)}
        partner = self.rng.choice([firsts[rank] for rank in sorted(firsts)])
        posted.is_complete = partner.is_complete = True

    def _publish(self, rank: int, *record: object) -> None:
        self.records.append((rank, record))

    def _now(self) -> float:
        return float(len(self.records))


def _meet(one: Posted, other: Posted) -> bool:
    if one.is_complete or other.is_complete or {one.step.op, other.step.op} != {"send", "recv"}:
        return False
    send, recv = (one, other) if one.step.op == "send" else (other, one)
    return (
        send.step.peer == recv.rank
        and recv.step.peer in (None, send.rank)
        and send.step.tag == recv.step.tag
    )
