"""Every storage that a rank is known to hold, once each, with its bytes and its category."""

from __future__ import annotations

import weakref
from collections import deque

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from sandbox.memory.category import CATEGORIES, Category


class Held:
    """One storage: alive as long as `ref` is, whoever refers to it."""

    __slots__ = ("category", "nbytes", "ref")

    def __init__(self, ref: weakref.ref, nbytes: int, category: Category) -> None:
        self.ref = ref
        self.nbytes = nbytes
        self.category = category


class Storages:
    """The live storages by address, and their bytes by category.

    torch keeps a storage's Python object as long as the storage itself, so a weak reference to it
    says when the bytes are freed. That may be told at any moment, even in the middle of a method
    here: it is noted, and taken in by the next call of `settle`.
    """

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}
        self._freed: deque[tuple[int, weakref.ref]] = deque()
        self.bytes: dict[Category, int] = dict.fromkeys(CATEGORIES, 0)
        self.total = 0

    @property
    def has_freed(self) -> bool:
        """Whether something was freed that is still counted."""
        return bool(self._freed)

    def settle(self) -> None:
        """Take out what was freed meanwhile."""
        while self._freed:
            address, ref = self._freed.popleft()
            held = self._held.get(address)
            if held is not None and held.ref is ref:  # and not a new storage in the same place
                self._count(held, -held.nbytes)
                del self._held[address]

    def see(self, tensor: Tensor, category: Category) -> None:
        """Note that the tensor's storage exists, with its present size; a new one's category."""
        for storage in storages_of(tensor):
            held = self._find(storage)
            if held is None:
                self._add(storage, category)
            else:
                self.resize(storage, held)

    def assign(self, storage: torch.UntypedStorage, category: Category) -> int:
        """Give a storage to a category; return its bytes."""
        held = self._find(storage) or self._add(storage, category)
        self.resize(storage, held)
        if held.category is not category:
            self._count(held, -held.nbytes)
            held.category = category
            self._count(held, held.nbytes)
        return held.nbytes

    def resize(self, storage: torch.UntypedStorage, held: Held | None = None) -> None:
        """Take in the storage's present size, if it is known at all."""
        held = held or self._find(storage)
        if held is not None and held.nbytes != (nbytes := storage.nbytes()):
            self._count(held, nbytes - held.nbytes)
            held.nbytes = nbytes

    def category_of(self, storage: torch.UntypedStorage) -> Category | None:
        """Return the category of a storage, None where it is not known."""
        held = self._find(storage)
        return held.category if held else None

    def _find(self, storage: torch.UntypedStorage) -> Held | None:
        held = self._held.get(storage._cdata)
        return held if held is not None and held.ref() is storage else None

    def _add(self, storage: torch.UntypedStorage, category: Category) -> Held:
        self.settle()  # the same address may just have been freed
        address = storage._cdata
        held = Held(
            weakref.ref(storage, lambda ref: self._freed.append((address, ref))),
            storage.nbytes(),
            category,
        )
        self._held[address] = held
        self._count(held, held.nbytes)
        return held

    def _count(self, held: Held, nbytes: int) -> None:
        self.bytes[held.category] += nbytes
        self.total += nbytes


def storages_of(tensor: Tensor) -> tuple[torch.UntypedStorage, ...]:
    """Return the storages behind a tensor; of a DTensor and the like, those of what is inside.

    Fake tensors and those on the meta device have none; sparse ones are not looked into.
    """
    kind = type(tensor)
    if kind is not Tensor and kind is not torch.nn.Parameter:
        if isinstance(tensor, DTensor):
            return storages_of(tensor._local_tensor)
        if is_traceable_wrapper_subclass(tensor):
            inner = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
            return tuple(storage for each in inner for storage in storages_of(each))
    if tensor.layout is not torch.strided:
        return ()
    storage = tensor.untyped_storage()
    return () if storage.device.type == "meta" else (storage,)
