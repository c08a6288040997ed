"""Where the ranks' calls of new_group part: torch counts them on every rank, members or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from sandbox.failure import name_ranks
from sandbox.proving.wording import describe_site

HINT = (
    "every rank must call new_group for every group, members or not, and all in the same order: "
    "torch matches the calls by their number."
)


class GroupCall(NamedTuple):
    """One call of new_group."""

    members: tuple[int, ...]
    site: str | None

    def __str__(self) -> str:
        return f"new_group({list(self.members)})"


class Elsewhere(NamedTuple):
    """What a rank waits in, and it is no new_group."""

    what: str
    site: str | None

    def __str__(self) -> str:
        return self.what


class Parting(NamedTuple):
    """The first call that some ranks made and others did not, at the same place in their order."""

    call: GroupCall
    callers: list[int]
    skippers: list[int]
    instead: GroupCall | Elsewhere | None  # what they called in its place; None: they finished

    @property
    def culprits(self) -> list[int]:
        """The fewer; of as many, those that skipped the call."""
        is_alone = self.instead is None and len(self.callers) < len(self.skippers)
        return self.callers if is_alone else self.skippers

    @property
    def site(self) -> str | None:
        """The line of the first culprit, if it called anything, else that of the others."""
        return (self.instead or self.call).site

    def describe(self) -> str:
        """Return who skipped which call, and where the others made it."""
        callers, skippers = name_ranks(self.callers), name_ranks(self.skippers)
        where = describe_site(self.call.site)
        if self.instead is not None:
            return (
                f"{skippers} skipped {self.call}, or called in another order: {callers} called it"
                f"{where} where {skippers} called {self.instead}{describe_site(self.instead.site)}."
            )
        if self.culprits is self.callers:
            return f"only {callers} called {self.call}{where}; {skippers} finished without it."
        they = "it" if len(self.skippers) == 1 else "they"
        return f"{skippers} skipped {self.call}, which {callers} called{where}: {they} finished."


class GroupCalls:
    """What each rank has called, in its order. Groups that their members name alone are left out.

    A rank that is no member returns at once, but it counts: torch names groups by the number of the
    call, and under different names members do not meet.
    """

    def __init__(self, world_size: int) -> None:
        self._calls: list[list[GroupCall]] = [[] for _ in range(world_size)]

    def add(self, rank: int, call: GroupCall) -> None:
        """Note that `rank` calls new_group."""
        self._calls[rank].append(call)

    def find_parting(
        self,
        stuck: Collection[int],
        finished: Collection[int],
        suspects: Collection[int],
        elsewhere: Mapping[int, Elsewhere],
    ) -> Parting | None:
        """Return the first call that a suspect skipped, of ranks that call nothing any more.

        `elsewhere` says what those of the stuck ranks wait in that wait in no new_group.
        """
        for place in range(max(map(len, self._calls), default=0)):
            made: dict[int, GroupCall | Elsewhere | None] = {}
            for rank, calls in enumerate(self._calls):
                if place < len(calls) and (rank in stuck or rank in finished):
                    made[rank] = calls[place]
                elif rank in finished:
                    made[rank] = None
                elif rank in elsewhere:
                    made[rank] = elsewhere[rank]
            for parting in self._partings(place, made):
                if set(parting.skippers) & set(suspects):
                    return parting
        return None

    def _partings(
        self, place: int, made: Mapping[int, GroupCall | Elsewhere | None]
    ) -> Iterator[Parting]:
        """Yield what may have been skipped at one place, the likeliest first."""
        finished = [rank for rank, call in made.items() if call is None]
        counts = Counter(call for call in made.values() if isinstance(call, GroupCall))
        elsewhere = dict.fromkeys(call for call in made.values() if isinstance(call, Elsewhere))
        untraced = []
        for call, _ in counts.most_common():
            callers = [rank for rank in made if made[rank] == call]
            if finished:
                yield Parting(call, callers, finished, None)
            later = {after for rank in callers for after in self._calls[rank][place + 1 :]}
            for other in (each for each in counts if each != call):
                parting = Parting(call, callers, [r for r in made if made[r] == other], other)
                if other in later:
                    yield parting
                elif other.members != call.members:  # else perhaps a branch of the same program
                    untraced.append(parting)
            for where in elsewhere:
                rest = [rank for rank in made if made[rank] == where]
                yield Parting(call, callers, rest, where)
        yield from untraced
