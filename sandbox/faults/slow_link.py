"""SlowLink: links between ranks that carry so many bytes a second, each message after a while."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sandbox.errors import LaunchError
from sandbox.event import Op
from sandbox.faults.fault import Fault, check_amount, check_rank

if TYPE_CHECKING:
    from sandbox.faults.injection import Injection
    from sandbox.observing.record import Call

Link = tuple[int, int]  # from rank, to rank: each direction is a link of its own


def find_way(call: Call, ranks: tuple[int, ...], rank: int) -> list[Link]:
    """Return the links that an operation of `rank` goes over: of a collective, those of the ring.

    `ranks` are the members of its group.
    """
    if len(ranks) == 1:
        return []
    if not Op(call.op).is_point_to_point:
        return list(zip(ranks, (*ranks[1:], ranks[0]), strict=True))
    others = [other for other in ranks if other != rank] if call.root is None else [call.root]
    if call.op == Op.SEND.value:
        return [(rank, other) for other in others]
    return [(other, rank) for other in others]


@dataclass(frozen=True, repr=False)
class SlowLink(Fault):
    """The links between these ranks (default: all) have a `bandwidth` in bytes/s, a `latency` in s.

    An operation takes the time of the ring algorithm over the slowest link of its ring: its bytes
    (`Ledger.sent_bytes`) divided by the bandwidth, and a latency for each of its successive
    messages. It begins when all members have joined, comes on top of what the machine itself needs,
    and one link carries one operation at a time. The operation is issued at once and *completes*
    late: what a rank computes before it waits is hidden behind it. Needs the gloo backend.
    """

    bandwidth: float
    latency: float = 0.0
    between: Collection[int] | None = None
    tells: ClassVar[bool] = False
    needs_gloo: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_amount(self, "bandwidth", self.bandwidth, least=0, above=True)
        check_amount(self, "latency", self.latency, least=0, above=False)
        if self.between is None:
            return
        if not isinstance(self.between, Collection) or len(set(self.between)) < 2:
            raise LaunchError(
                f"SlowLink: between is {self.between!r}, expected two ranks or more, as in "
                "between=(0, 1)."
            )
        for rank in self.between:
            check_rank(self, rank)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the ranks whose links are slow, none for all."""
        return tuple(self.between or ())

    def concerns(self, rank: int) -> bool:
        """Say yes: a slow link between two ranks delays every ring that passes over it."""
        return True

    def joins(self, source: int, target: int) -> bool:
        """Whether this is the link from one rank to the other."""
        return self.between is None or {source, target} <= set(self.between)

    def carries(self, call: Call, ranks: tuple[int, ...], rank: int) -> bool:
        """Whether an operation that `rank` takes part in goes over such a link."""
        return any(self.joins(*link) for link in find_way(call, ranks, rank))

    def install(self, injection: Injection) -> None:
        """Delay what goes over such links from now on."""
        from sandbox.faults.links import Links

        recorder = injection.recorder
        if recorder.links is None:
            recorder.links = Links(recorder.rank)
        recorder.links.slow.append(self)
