"""Flat parameters as the grader makes and reads them: what a rank's partition holds of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from grader.shards import Shard


@dataclass
class FlatParameters:
    """Parameters that are views of one padded 1-D tensor, and this rank's shard, a copy."""

    parameters: list[nn.Parameter]
    whole: Tensor
    shard: nn.Parameter


def shard_parameters(parameters: Sequence[nn.Parameter]) -> FlatParameters:
    """Return the parameters as flat ones; `whole` has no memory, this rank's shard is a copy."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    whole = torch.cat([parameter.detach().flatten() for parameter in parameters])
    whole = torch.cat([whole, whole.new_zeros(-len(whole) % world_size)])
    start = 0
    for parameter in parameters:
        parameter.data = whole[start : start + parameter.numel()].view(parameter.shape)
        start += parameter.numel()
    shard = nn.Parameter(whole.chunk(world_size)[rank].clone(), parameters[0].requires_grad)
    whole.untyped_storage().resize_(0)
    return FlatParameters(list(parameters), whole, shard)


def padded_numel(numel: int, world_size: int) -> int:
    """Return `numel` rounded up to a multiple of `world_size`."""
    return -(-numel // world_size) * world_size


def names_of(flat: Any, model: nn.Module) -> list[str]:
    """Return the names in `model` of what lies in flat parameters, in their order."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [names.get(id(parameter), "?") for parameter in flat.parameters]


def pieces(
    names: Sequence[str], numels: Mapping[str, int], partition: Tensor | None
) -> dict[str, Shard]:
    """Return what this rank's partition of a flat tensor holds of each parameter, as 1-D shards.

    What a partition does not reach has no elements; without a partition there is nothing.
    """
    if partition is None:
        return {}
    values = partition.detach().to("cpu", copy=True)
    begin = dist.get_rank() * len(values)
    found, start = {}, 0
    for name in names:
        stop = start + numels[name]
        first = min(max(start, begin), stop)
        last = max(min(stop, begin + len(values)), first)
        local = values[first - begin : last - begin] if last > first else values[:0]
        found[name] = Shard(
            name=name,
            shape=(numels[name],),
            placements=None,
            mesh=None,
            first_row=first - start,
            local=local,
            storage_bytes=local.nbytes,
        )
        start = stop
    return found


def flattened(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return each tensor as a 1-D one: the truth that pieces are compared with."""
    return {name: tensor.flatten() for name, tensor in tensors.items()}
