"""What a rank holds beside its flat parameters, their gradients and the optimizer's states."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.held import new_storages
from grader.mistakes import Mistake
from grader.shards import Shard
from grader.verdict import Failure


def aside_bytes(before: Mapping[int, int], known: Iterable[Tensor]) -> int:
    """Return the bytes of storages that came since `before` and are none of the `known` tensors."""
    addresses = {tensor.untyped_storage().data_ptr() for tensor in known}
    held = new_storages(dict(before))
    return sum(nbytes for address, nbytes in held.items() if address not in addresses)


def tensors_of(flats: Sequence[Any], model: nn.Module) -> Iterator[Tensor]:
    """Yield what is where it belongs: parameters, whole and shard, and their gradients."""
    for tensor in [*model.parameters(), *(t for flat in flats for t in (flat.whole, flat.shard))]:
        yield tensor
        if tensor.is_leaf and tensor.grad is not None:
            yield tensor.grad


def states_of(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    """Yield the optimizer's states."""
    for state in optimizer.state.values():
        yield from (value for value in state.values() if isinstance(value, Tensor))


def locals_of(copies: Iterable[Mapping[str, Shard]]) -> Iterator[Tensor]:
    """Yield the copies that the check itself has taken."""
    for shards in copies:
        yield from (shard.local for shard in shards.values())


def judge_aside(aside: Sequence[int], buffer_bytes: int) -> Failure | None:
    """Judge the bytes that each rank holds aside; a buffer of `buffer_bytes` may be kept."""
    for rank, nbytes in enumerate(aside) if len(aside) > 1 else ():
        if nbytes > buffer_bytes:
            return Failure(
                mistake=Mistake.COPY_KEPT,
                expected=f"at most {buffer_bytes:,} bytes beside parameters, gradients and states",
                came=f"{nbytes:,} bytes in other tensors that are kept",
                where=f"rank {rank}",
            )
    return None
