"""Tracks what a rank holds: sees every operator's result, and takes samples of the storages.

Why not torch's own `MemTracker` and `FSDPMemTracker` (torch.distributed._tools): they refuse a
second training step (NotImplementedError), know neither DeepSpeed nor FSDP1 nor DDP, call all that
a step produces an optimizer state, and want to be handed the module that they track. This one works
as they do, on unique storages with weak references, and asks the owners instead of guessing.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch._guards import active_fake_mode
from torch.distributed.tensor import DTensor
from torch.optim import Optimizer
from torch.utils._python_dispatch import TorchDispatchMode

from sandbox import backend
from sandbox.memory.category import Category, Phase
from sandbox.memory.owners import Owners
from sandbox.memory.phases import Phases
from sandbox.memory.sample import MAX_SAMPLES, Sample
from sandbox.memory.storages import Storages, storages_of
from sandbox.observing import callsite

MAX_BETWEEN = MAX_SAMPLES // 2  # samples of a rank that are not at the end of a phase
# A sample is due when the total has changed by this part of the peak; twice that after each
# `COARSER_AFTER` samples, so that a long run is covered as well as a short one.
RESOLUTION = 0.04
COARSER_AFTER = 100
_OWNED = (Category.PARAMETERS, Category.GRADIENTS, Category.OPTIMIZER, Category.UNSHARDED)


class Tracker(TorchDispatchMode):
    """Sees every result of an operator in the thread that entered it, and autograd's beside it."""

    def __init__(self, rank: int, publish: Callable[[tuple], None], caller: FrameType) -> None:
        super().__init__()
        self.owners = Owners()
        self.phases = Phases(self._end_phase)
        self._rank = rank
        self._publish = publish
        self._caller: FrameType | None = caller  # whoever calls the function that is tracked
        self._function: FrameType | None = None
        self._storages = Storages()
        self._peak: Sample | None = None
        self._peak_total = 0
        self._peak_moment: dict[str, Any] = {}
        self._is_peak_fixed = True
        self._is_peak_published = True
        self._num_between = 0
        self._num_samples = 0
        self._sampled_total = 0
        self._is_blind = False

    def start(self) -> None:
        """Take in what is alive already: the call's arguments, or variables of earlier calls."""
        for entry in gc.get_objects():
            kind = type(entry)
            if issubclass(kind, Tensor):
                self._storages.see(entry, Category.OTHER)
            elif issubclass(kind, nn.Module | Optimizer):
                self.owners.add(entry)
        self._take_sample(self.phases.phase, is_end=False)

    def stop(self) -> None:
        """Take the last samples of the call, with what the function's variables still hold."""
        self.phases.end()
        self._take_sample(self.phases.phase, is_end=False)
        self._publish_peak()
        self._caller = self._function = None  # they refer to us, and would keep all of it alive

    def __torch_dispatch__(
        self, func: Any, types: Iterable[type], args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Run the operator, and note the storages of its results."""
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # it comes again, with what is inside
        result = func(*args, **(kwargs or {}))
        if active_fake_mode() is None:
            self._take_out_freed()
            self._see(result, self.phases.birth_category)
            self._look(sys._getframe())
        return result

    def begin_module(self, module: nn.Module) -> None:
        """Note the call of a module; in a thread whose operators are not seen, say so from then on.

        Modules, gradients and optimizers are found by their owners, whatever thread made them.
        """
        if torch._C._len_torch_dispatch_stack() == 0:
            self._is_blind = True
        self.phases.begin_module(module)

    def before_resize(self) -> None:
        """Note that a storage is about to be given bytes, or to lose its bytes."""
        self._take_out_freed()
        self._fix_peak()

    def see_resized(self, storage: torch.UntypedStorage) -> None:
        """Take in a storage's new size: FSDP frees what is inside a tensor, not the tensor."""
        if storage.device.type != "meta":
            self._storages.resize(storage)
            self._look(sys._getframe())

    def see_sent(self, values: Iterable[Any]) -> None:
        """Note the tensors of a collective: buffers, where they do not belong to an owner."""
        for tensor in _tensors_in(values):
            for storage in storages_of(tensor):
                if self._storages.category_of(storage) not in _OWNED:
                    self._storages.assign(storage, Category.BUFFERS)

    def _see(self, result: Any, category: Category) -> None:
        if isinstance(result, Tensor):
            self._storages.see(result, category)
        elif isinstance(result, list | tuple):
            for entry in result:
                self._see(entry, category)

    def _look(self, frame: FrameType) -> None:
        """Take a sample where the total has changed enough; follow the peak while it grows."""
        if self._function is None and self._caller is not None:
            self._function = _find_called_by(self._caller, frame)
        total = self._storages.total
        if total > self._peak_total:
            self._peak_total = total
            self._is_peak_fixed = False
            self._peak_moment = self._now(callsite.find(frame))
        if (
            self._num_between < MAX_BETWEEN
            and abs(total - self._sampled_total)
            > RESOLUTION * 2 ** (self._num_between // COARSER_AFTER) * self._peak_total
        ):
            self._num_between += 1
            self._take_sample(self.phases.phase, is_end=False)

    def _take_out_freed(self) -> None:
        if self._storages.has_freed:
            self._fix_peak()
            self._storages.settle()

    def _fix_peak(self) -> None:
        """Keep the composition of a new peak: nothing that was there then is taken out yet."""
        if not self._is_peak_fixed:
            self._set_peak(self._make_sample(self._peak_moment))

    def _set_peak(self, peak: Sample) -> None:
        self._peak = peak
        self._is_peak_fixed = True
        self._is_peak_published = False

    def _end_phase(self, phase: Phase) -> None:
        self._take_sample(phase, is_end=True)
        self._publish_peak()

    def _take_sample(self, phase: Phase, *, is_end: bool) -> None:
        self._take_out_freed()
        moment = self._now(callsite.find(sys._getframe()))
        sample = self._make_sample(moment | {"phase": phase, "is_end": is_end})
        if not self._is_peak_fixed:  # nothing was freed since, so this is the peak
            self._set_peak(replace(sample, **self._peak_moment))
        self._sampled_total = self._storages.total
        self._peak_total = max(self._peak_total, self._storages.total)
        if self._num_samples < MAX_SAMPLES:
            self._num_samples += 1
            self._publish(("memory", "sample", *sample.pack()))

    def _publish_peak(self) -> None:
        if self._peak is not None and not self._is_peak_published:
            self._publish(("memory", "peak", *self._peak.pack()))
            self._is_peak_published = True

    def _now(self, site: str | None) -> dict[str, Any]:
        """Return the fields of a sample that say when and where it is taken."""
        return {
            "time_s": time.monotonic(),
            "step": self.phases.step,
            "phase": self.phases.phase,
            "is_end": False,
            "site": site,
        }

    def _make_sample(self, moment: dict[str, Any]) -> Sample:
        facts = self.owners.assign(self._storages)
        bytes_held: dict[Category, int | None] = {**self._storages.bytes}
        if self._is_blind:
            bytes_held[Category.ACTIVATIONS] = None
        return Sample(
            rank=self._rank,
            bytes=bytes_held | dict.fromkeys(self.owners.unknown()),
            facts=facts,
            allocated_bytes=backend.allocated_bytes(),
            **moment,
        )


def _find_called_by(caller: FrameType, frame: FrameType | None) -> FrameType | None:
    """Return the frame of the tracked function: while we hold it, its variables stay alive."""
    while frame is not None and frame.f_back is not caller:
        frame = frame.f_back
    return frame


def _tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors_in(value)
