"""The observed process group: hands every operation to gloo or NCCL, and records it."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from sandbox.event import Op
from sandbox.failure import name_ranks
from sandbox.observing import average, gloo_reduce_scatter
from sandbox.observing.call_arguments import Members, Values, get_device_type, get_options
from sandbox.observing.describe_call import METHODS, merge, without_tensor
from sandbox.observing.elsewhere import run_elsewhere
from sandbox.observing.observed_work import ObservedWork, OnStream
from sandbox.observing.record import Call
from sandbox.observing.recorder import IMPATIENT_S, Lane, Published, Recorder

_POINT_TO_POINT = (Op.SEND.value, Op.RECV.value)
# Handles of these do not say that they are complete before somebody has waited: gloo's send, recv,
# and reduce_scatter, where it is not ours.
_CANNOT_POLL = (*_POINT_TO_POINT, Op.REDUCE_SCATTER.value)
# What torch says of a tensor that is not where the group's backend works.
_NO_BACKEND = "No backend type associated with device type"
_ON_DEVICE_HINT = "Hint: make the tensor on sandbox.device(), or move it there."
_BLOCKING_CALLERS = [inspect.unwrap(function).__code__ for function in (c10d.send, c10d.recv)]


@dataclass
class Birth:
    """What is known of a group before torch constructs it, and then the event of its creation."""

    recorder: Recorder
    gid: str
    ranks: tuple[int, ...]
    op: Op
    patience_s: float
    event: Published | None = None


class _Births(threading.local):
    current: Birth | None = None


births = _Births()


class _GroupType(type(dist.ProcessGroup)):  # type: ignore[misc]
    """Stands in for ProcessGroup in torch's own module: what is constructed there is observed."""

    def __call__(cls, store: dist.Store, rank: int, size: int) -> Any:
        if births.current is None:
            return dist.ProcessGroup(store, rank, size)
        return super().__call__(births.current, store, rank, size)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, dist.ProcessGroup)


class ObservedGroup(dist.ProcessGroup, metaclass=_GroupType):
    """A process group whose operations are on record; in everything else it is torch's.

    Operations run on an inner group with the same backends. (C++ would call this class's methods
    again, were they to call their parent's.)
    """

    def __init__(self, birth: Birth, store: dist.Store, rank: int, size: int) -> None:
        super().__init__(rank, size)  # type: ignore[call-arg]  # the one that Python may extend
        self._inner: Any = dist.ProcessGroup(store, rank, size)
        self._recorder = birth.recorder
        self._members = Members(birth.ranks, birth.recorder.rank)
        self._patience_s = birth.patience_s
        self._backends: dict[str, Any] = {}  # by kind of device
        self._lane = Lane(birth.gid, birth.ranks)
        self._other_lanes: dict[str, Lane] = {}
        self._block: list[Call] | None = None
        self._recorder.announce(self._lane)
        birth.event = self._recorder.issue(self._lane, without_tensor(birth.op), sys._getframe())
        if birth.patience_s >= IMPATIENT_S:
            birth.event.wait()  # now: what follows blocks in C++ until all members are there

    def __repr__(self) -> str:
        return f"<ProcessGroup of {name_ranks(list(self._members.ranks))}>"

    # -- what the inner group has to know as well -----------------------------------------------

    def _register_backend(self, device: torch.device, backend_type: Any, backend: Any) -> None:
        self._backends[device.type] = backend_type
        self._is_mixed = len(set(self._backends.values())) > 1
        super()._register_backend(device, backend_type, backend)
        self._inner._register_backend(device, backend_type, backend)

    def _set_default_backend(self, backend_type: Any) -> None:
        super()._set_default_backend(backend_type)
        self._inner._set_default_backend(backend_type)

    def set_timeout(self, timeout: timedelta) -> None:
        """Change how long operations may take before the backend gives up."""
        self._patience_s = timeout.total_seconds()
        super().set_timeout(timeout)

    def get_group_store(self) -> dist.Store:
        """Return the store through which the members have met."""
        return self._inner.get_group_store()

    def split_group(self, *args: Any, **kwargs: Any) -> Any:
        """Return torch's own kind of group: NCCL's way to make one, which is not observed."""
        return self._inner.split_group(*args, **kwargs)

    # -- operations; those of METHODS are added below ---------------------------------------------

    def monitored_barrier(self, timeout: timedelta, wait_all_ranks: bool = False) -> None:
        """Pass gloo's barrier that names missing ranks; it blocks in C++, so in another thread."""
        call = without_tensor(Op.MONITORED_BARRIER)
        event = self._recorder.issue(self._lane, call, sys._getframe())
        is_patient = timeout.total_seconds() >= IMPATIENT_S
        try:
            run_elsewhere(
                lambda: self._inner.monitored_barrier(timeout, wait_all_ranks),
                lambda: event.wait() if is_patient else None,
            )
        except BaseException:
            event.leave()
            raise
        event.end()

    def _start_coalescing(self, device: torch.device) -> None:
        self._inner._start_coalescing(device)
        self._block = []

    def _end_coalescing(self, device: torch.device) -> dist.Work:
        calls, self._block = self._block or [], None
        if not calls:
            return self._inner._end_coalescing(device)
        in_order = any(call.op not in _POINT_TO_POINT for call in calls)
        end = functools.partial(self._inner._end_coalescing, device)
        return self._observe(end, merge(calls), (), sys._getframe(), in_order=in_order)

    def _operate(
        self, name: str, args: Values, kwargs: dict[str, Any], frame: FrameType
    ) -> dist.Work:
        values = (*args, *kwargs.values()) if kwargs else args
        start: Callable[[], Any] = functools.partial(getattr(self._inner, name), *args, **kwargs)
        call, refused = None, None
        try:
            call = METHODS[name](values, self._members)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            refused = error
        if call is None:
            start()  # torch refuses such arguments in its own words
            raise refused or AssertionError
        if self._recorder.watch is not None:
            self._recorder.watch(values)
        if name in gloo_reduce_scatter.METHODS and self._block is None:
            start = gloo_reduce_scatter.prepare(self._inner, values) or start
        start = average.prepare(start, call, values)
        if self._block is not None:
            self._block.append(call)
            return start()
        in_order = call.op not in _POINT_TO_POINT
        return self._observe(start, call, values, frame, in_order=in_order)

    def _observe(
        self,
        start: Callable[[], Any],
        call: Call,
        values: Values,
        frame: FrameType,
        *,
        in_order: bool,
    ) -> ObservedWork:
        """Publish a call, then start it: gloo may end the process when the members disagree."""
        lane, blocks = self._place(values)
        is_async, timeout_s = get_options(values)
        is_async = is_async if in_order else not _is_blocking(frame)
        event = self._recorder.issue(lane, call, frame, in_order=in_order, is_async=is_async)
        if not blocks and (event.is_first or not is_async):
            event.wait(on_stream=True)  # now: for the first, NCCL blocks in C++ until all are there
        try:
            work: Any = start() or OnStream()
        except BaseException as error:
            event.withdraw()
            if _NO_BACKEND in str(error):
                raise RuntimeError(f"{error}. {_ON_DEVICE_HINT}") from None
            raise
        if not blocks and is_async:
            event.leave()
        is_ours = isinstance(work, gloo_reduce_scatter.ReduceScatterWork)
        if is_ours and self._recorder.watch is not None:
            self._recorder.watch((work.buffer,))  # the copy that a reduce_scatter on gloo needs
        can_poll = is_ours or call.op not in _CANNOT_POLL
        links = self._recorder.links if blocks else None
        future = None
        if can_poll and blocks and (is_async or links is not None):
            future = (work.all_reduce if is_ours else work).get_future()
        if links is not None:
            work, future = links.delay(work, future, call, lane)
        if is_async and future is not None:
            future.add_done_callback(lambda _: event.complete())
        patience_s = timeout_s or self._patience_s
        observed = ObservedWork(
            work, event, patience_s=patience_s, can_poll=can_poll, blocks=blocks
        )
        if is_async and values:  # of a coalesced block, they do not tell whether somebody waits
            self._recorder.unwaited.add(event.number, observed, call.op, frame)
        return observed

    def _place(self, values: Values) -> tuple[Lane, bool]:
        """Return the order that a call belongs to, and whether waiting for it blocks the thread."""
        device = get_device_type(values) if self._is_mixed else next(iter(self._backends))
        blocks = self._backends[device] == dist.ProcessGroup.BackendType.GLOO
        if not self._is_mixed or device == "cpu":
            return self._lane, blocks
        if device not in self._other_lanes:
            lane = Lane(f"{self._lane.gid}/{device}", self._lane.ranks)
            lane.next_seq = 1
            self._recorder.announce(lane)
            self._other_lanes[device] = lane
        return self._other_lanes[device], blocks


def _is_blocking(frame: FrameType) -> bool:
    """Whether torch's send or recv is two frames up, and not isend or irecv directly."""
    caller = frame.f_back and frame.f_back.f_back
    return caller is not None and caller.f_code in _BLOCKING_CALLERS


def _observed(name: str) -> Callable[..., dist.Work]:
    def operation(self: ObservedGroup, *args: Any, **kwargs: Any) -> dist.Work:
        return self._operate(name, args, kwargs, sys._getframe())

    return operation


for _name in METHODS:
    setattr(ObservedGroup, _name, _observed(_name))
