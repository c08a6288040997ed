"""The bytes that live tensors hold in this process: what a rank really has, whatever it says."""

import gc

import torch
from torch.distributed.tensor import DTensor


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


def new_bytes(before: dict[int, int]) -> int:
    """Return the bytes held now in storages that were not there `before`."""
    return sum(size for address, size in live_storages().items() if address not in before)
