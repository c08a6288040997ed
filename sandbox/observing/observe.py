"""Observes every process group of a rank, whoever creates it, and lets ranks meet without ports."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d
from torch.distributed.rendezvous import _rendezvous_handlers

from sandbox import backend
from sandbox.event import Op
from sandbox.observing import callsite, observed_store
from sandbox.observing.observed_group import Birth, ObservedGroup, births
from sandbox.observing.recorder import Recorder

SECOND_INIT_NOTE = (
    "Note: the default group exists already; this init_process_group() changes nothing."
)
_DEFAULT_GROUP = "0"  # torch's name of it, and where its numbers of groups begin again
MAX_MARK = 100  # characters: a record must stay short
Publish = Callable[[tuple], None]


class Observer:
    """What torch's own functions are wrapped with in one rank."""

    def __init__(self, rank: int, world_size: int, store_path: str, publish: Publish) -> None:
        self.rank = rank
        self.world_size = world_size
        self.recorder = Recorder(rank, publish)
        self.meet_at(store_path)
        self._has_noted = False
        # Groups are never destroyed: their destructor waits for gloo's threads, which may be stuck,
        # and would do so with the interpreter's lock in hand. They end with the process.
        self._kept: list[Any] = []

    def meet_at(self, store_path: str) -> None:
        """Let new groups meet in another file; numbers of groups start again."""
        self._store_path = store_path
        self._num_meetings = 0
        self._num_groups: Counter[str] = Counter()

    def meet(self, url: str, **_: Any) -> Iterator[tuple[dist.Store, int, int]]:
        """Stand in for torch's env:// rendezvous: a file instead of MASTER_ADDR and MASTER_PORT."""
        query = parse_qs(urlparse(url).query)
        rank = int(query.get("rank", [os.environ["RANK"]])[0])
        world_size = int(query.get("world_size", [os.environ["WORLD_SIZE"]])[0])
        self._num_meetings += 1  # init, destroy and init again must not find the old keys
        store = dist.FileStore(self._store_path, -1)  # -1: the file is the owner's to remove
        yield dist.PrefixStore(f"meeting {self._num_meetings}", store), rank, world_size

    def create_group(
        self,
        create: Callable[..., Any],
        group_size: int,
        group_rank: int,
        global_ranks_in_group: list[int],
        backend: str,
        store: dist.Store,
        group_name: str,
        *args: Any,
        timeout: timedelta | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call torch's `_new_process_group_helper` so that the group it constructs is observed."""
        ranks = global_ranks_in_group
        arguments = (group_size, group_rank, ranks, backend, store, group_name, *args)
        if "fake" in backend:
            return create(*arguments, timeout=timeout, **kwargs)
        self._num_groups[group_name] += 1
        members = tuple(ranks) or tuple(range(group_size))
        place = None
        if ranks and group_name.isdecimal():  # else a hash: non-members need not call
            place = (self._num_groups[_DEFAULT_GROUP], group_name)
            site = callsite.find(sys._getframe())
            self.recorder.publish(("new_group", members, site, place, time.monotonic()))
        birth = Birth(
            recorder=self.recorder,
            gid=_digest(self._store_path, group_name, self._num_groups[group_name], members),
            ranks=members,
            op=Op.NEW_GROUP if ranks else Op.INIT_PROCESS_GROUP,
            patience_s=timeout.total_seconds() if timeout else 0.0,
        )
        births.current = birth
        try:
            group, group_store = create(*arguments, timeout=timeout, **kwargs)
        except BaseException:
            if birth.event:
                birth.event.leave()
            if place:
                self.recorder.publish(("new_group_end", place, True))
            raise
        finally:
            births.current = None
        if place:
            self.recorder.publish(("new_group_end", place, False))
        if birth.event:
            birth.event.end()
            self._kept.append(group)
        return group, group_store

    def init_process_group(
        self,
        init: Callable[..., None],
        backend: str | None = None,
        init_method: str | None = None,
        timeout: timedelta | None = None,
        world_size: int = -1,
        rank: int = -1,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Call torch's init_process_group; if the group exists, accept a call that matches it."""
        if not dist.is_initialized():
            self._check_place(world_size, rank)
            return init(backend, init_method, timeout, world_size, rank, *args, **kwargs)
        asked = {"backend": backend, "world_size": world_size, "rank": rank}
        have = {"backend": dist.get_backend(), "world_size": self.world_size, "rank": self.rank}
        for name, value in asked.items():
            if value not in (None, -1, have[name]) and not _names_among_others(value, have[name]):
                raise ValueError(
                    f"init_process_group({name}={value!r}): the default group exists already, "
                    f"with {name}={have[name]!r}. Hint: leave the call out, or launch with "
                    "init_process_group=False."
                )
        if not self._has_noted:
            self._has_noted = True
            print(SECOND_INIT_NOTE)  # noqa: T201 (to the learner, from the learner's own call)
        return None

    def _check_place(self, world_size: int, rank: int) -> None:
        """Refuse numbers that this rank does not have: the others would wait for ever."""
        if rank not in (-1, self.rank):
            raise ValueError(
                f"init_process_group(rank={rank}) on rank {self.rank}. Hint: leave rank out, or "
                'pass int(os.environ["RANK"]).'
            )
        if world_size > self.world_size:
            raise ValueError(
                f"init_process_group(world_size={world_size}), but there are {self.world_size} "
                "ranks. Hint: leave world_size out."
            )


def _names_among_others(value: Any, backend: Any) -> bool:
    """Whether "cpu:gloo,…" names the backend for the device that it is for here."""
    return isinstance(value, str) and f"cpu:{backend}" in value.split(",")


def _digest(*parts: object) -> str:
    """Return a short name that members of a group find alike, each on its own."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


_observer: Observer | None = None


def install(*, rank: int, world_size: int, store_path: str, publish: Publish) -> Recorder:
    """Observe all groups that this process will create. Once per rank, before any exists."""
    global _observer
    observer = _observer = Observer(rank, world_size, store_path, publish)
    c10d.ProcessGroup = ObservedGroup  # type: ignore[misc, assignment]
    c10d._new_process_group_helper = functools.partial(
        observer.create_group, c10d._new_process_group_helper
    )
    original = c10d.init_process_group

    @functools.wraps(original)
    def init_process_group(*args: Any, **kwargs: Any) -> None:
        return observer.init_process_group(original, *args, **kwargs)

    c10d.init_process_group = dist.init_process_group = init_process_group
    _rendezvous_handlers["env"] = observer.meet
    observed_store.install(observer.recorder)
    return observer.recorder


def rebuild(store_path: str, world_size: int) -> None:
    """Forget all groups, however stuck, so that new ones can meet at `store_path`."""
    assert _observer is not None
    if dist.is_initialized():
        backend.leave_groups()
    _observer.recorder.unwaited.clear()
    _observer.world_size = world_size
    _observer.meet_at(store_path)


def mark(name: str) -> None:
    """Note a moment of this rank, to cut its ledger with `ledger.phases(rank)`. No collective.

    Raises RuntimeError outside of ranks, ValueError for a name of more than 100 characters.
    """
    if _observer is None:
        raise RuntimeError("mark() outside of ranks. Hint: call it in a function that launch runs.")
    if len(name) > MAX_MARK:
        raise ValueError(f"the mark has {len(name)} characters, expected at most {MAX_MARK}.")
    _observer.recorder.publish(("mark", name, time.monotonic()))


def recorder() -> Recorder:
    """Return what this rank publishes with."""
    assert _observer is not None
    return _observer.recorder


@contextlib.contextmanager
def watching(watch: Callable[[Sequence[Any]], None]) -> Iterator[None]:
    """Show `watch` the arguments of every collective of this rank, until the context ends."""
    recorder().watch = watch
    yield
    recorder().watch = None


def silence() -> None:
    """Publish nothing from now on: this process is a child that the learner forked."""
    if _observer is not None:
        _observer.recorder.publish = lambda record: None
