"""The bytes that live tensors hold in this process: what a rank really has, whatever it says."""

import gc
import time

import numpy as np
import torch
from torch import nn
from torch.distributed.tensor import DTensor

RELEASE_S = 0.02


def live_storages() -> dict[int, int]:
    """Return address -> bytes of every storage that a live tensor holds; views count once.

    What was alive before the rank was forked is frozen for the garbage collector and not seen.
    """
    gc.collect()
    storages = {}
    for tensor in [entry for entry in gc.get_objects() if issubclass(type(entry), torch.Tensor)]:
        local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
        if local.layout is torch.strided and local.device.type != "meta":
            storage = local.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    storages.pop(0, None)  # freed: no bytes behind it
    return storages


def array_bytes(model: nn.Module) -> int:
    """Return the bytes of the NumPy arrays among the attributes of the model's modules."""
    return sum(_bytes_of(vars(module)) for module in model.modules())


def _bytes_of(value: object) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(_bytes_of, value.values()))
    return sum(map(_bytes_of, value)) if isinstance(value, list | tuple) else 0


def new_bytes(before: dict[int, int]) -> int:
    """Return the bytes held now in storages that were not there `before`."""
    return sum(new_storages(before).values())


def new_storages(before: dict[int, int]) -> dict[int, int]:
    """Return address -> bytes of the storages held now that were not there `before`.

    Looks twice: a backend's thread holds the tensors of a collective a moment longer than it lasts.
    """
    first = live_storages()
    time.sleep(RELEASE_S)
    now = live_storages()
    return {address: now[address] for address in (now.keys() & first.keys()) - before.keys()}
