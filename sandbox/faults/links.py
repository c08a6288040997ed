"""When slow links deliver: how long an operation occupies them, on a clock for each link."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from typing import Any

from sandbox.event import Event, Op
from sandbox.faults.late_work import LateWork, Transfer
from sandbox.faults.slow_link import Link, SlowLink, find_way
from sandbox.faults.timer import Timer
from sandbox.journal import get_parts
from sandbox.observing.record import Call
from sandbox.observing.recorder import Lane
from sandbox.ring import ring_bytes


class Links:
    """The slow links as one rank sees them: it keeps the clocks of what it takes part in itself."""

    def __init__(self, rank: int) -> None:
        self.slow: list[SlowLink] = []
        self._rank = rank
        self._timer = Timer()
        self._free_s: defaultdict[Link, float] = defaultdict(float)
        self._queues: defaultdict[str, deque[LateWork]] = defaultdict(deque)  # by lane
        self._lock = threading.Lock()

    def delay(self, work: Any, future: Any, call: Call, lane: Lane) -> tuple[Any, Any]:
        """Return handle and future of an operation that complete when the links have delivered.

        `future` tells when the backend has done its part; of an operation without one, None.
        """
        transfer = self.plan(call, lane.ranks)
        if not transfer.links:
            return work, future
        # The backend may finish what a group does out of order; messages need not keep any.
        is_alone = Op(call.op).is_point_to_point
        queue = deque[LateWork]() if is_alone else self._queues[lane.gid]
        late = LateWork(work, transfer, future, lambda: self._advance(queue), self._timer)
        with self._lock:
            queue.append(late)
        late.follow()
        return late, late.delivered

    def _advance(self, queue: deque[LateWork]) -> None:
        """Let those at the head of a queue that are ready go over the links."""
        with self._lock:
            while queue and (ready_s := queue[0].ready_s) is not None:
                late = queue.popleft()
                late.deliver(ready_s if late.error else self.occupy(late.transfer, ready_s))

    def plan(self, call: Call, ranks: tuple[int, ...]) -> Transfer:
        """Return what an operation of the group `ranks` asks of the slow links."""
        num_bytes, num_messages = measure(call, ranks, self._rank)
        durations = {
            link: max(num_bytes / s.bandwidth + num_messages * s.latency for s in slow)
            for link in find_way(call, ranks, self._rank)
            if (slow := [s for s in self.slow if s.joins(*link)])
        }
        return Transfer(tuple(durations), max(durations.values(), default=0.0))

    def occupy(self, transfer: Transfer, ready_s: float) -> float:
        """Return when an operation is delivered whose members had all joined at `ready_s`."""
        start_s = max(ready_s, *(self._free_s[link] for link in transfer.links))
        end_s = start_s + transfer.duration_s
        self._free_s.update(dict.fromkeys(transfer.links, end_s))
        return end_s


def measure(call: Call, ranks: tuple[int, ...], rank: int) -> tuple[float, int]:
    """Return the bytes of the busiest member under the ring algorithm, and its messages in a row.

    A gather is a scatter the other way: its root is as busy, with the parts of all others.
    """
    op, size = Op(call.op), len(ranks)
    if op.is_point_to_point:
        return float(call.numel * call.itemsize), 1
    if op is Op.GATHER:
        op = Op.SCATTER
    busiest = rank if call.root is None else call.root
    if op is Op.REDUCE:  # all send but the root
        busiest = next((other for other in ranks if other != call.root), busiest)
    event = Event(
        rank=busiest,
        seq=0,
        op=op,
        group=ranks,
        numel=call.numel,
        dtype=call.dtype,
        nbytes=call.numel * call.itemsize,
        root=call.root,
        parts=get_parts(op, call),
    )
    rounds = 2 if op in (Op.ALL_REDUCE, Op.BARRIER) else 1  # a barrier is an all_reduce of nothing
    return float(ring_bytes(event)), rounds * (size - 1)
