"""A claim to a storage: this tensor is one of the parameters, gradients, optimizer states, …"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor
from torch.distributed.tensor import DTensor

from sandbox.memory.category import Category


class Claim(NamedTuple):
    """What a tensor is. A tuple: one is made per tensor and look, many times in a step."""

    category: Category
    tensor: Tensor
    num_padded: int = 0  # elements of the tensor that have no meaning
    is_counter: bool = False  # of an optimizer's steps

    @property
    def used_bytes(self) -> int:
        """Bytes of the storage that have a meaning; the rest is padding."""
        local = self.tensor._local_tensor if isinstance(self.tensor, DTensor) else self.tensor
        return (local.numel() - self.num_padded) * local.element_size()
