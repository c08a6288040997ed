"""The FSDP units of a model, and the collectives that they imply for one step."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.distributed.fsdp import FSDPModule

from grader.shards import padded_numel, plain_name
from sandbox import toys

Collectives = Counter[tuple[str, int]]  # (op, elements of the unsharded tensor) -> how many


@dataclass(frozen=True)
class Unit:
    """One unit: the modules it was made of, its parameters, and whether forward frees them."""

    modules: tuple[str, ...]
    parameters: tuple[str, ...]
    is_resharded: bool


def units_of(model: nn.Module) -> tuple[Unit, ...]:
    """Return the model's units. Whether the root, left at its default, keeps its parameters is
    decided by FSDP2 in the first forward: before it, the root counts as resharded."""
    names = {id(parameter): plain_name(name) for name, parameter in model.named_parameters()}
    modules: dict[int, list[str]] = {}
    groups: dict[int, Any] = {}
    for name, module in model.named_modules():
        if isinstance(module, FSDPModule):
            for group in module._get_fsdp_state()._fsdp_param_groups:
                modules.setdefault(id(group), []).append(plain_name(name))
                groups[id(group)] = group
    return tuple(
        Unit(
            modules=tuple(dict.fromkeys(modules[key])),
            parameters=tuple(
                names[id(param.sharded_param)]
                for param in group.fsdp_params
                if id(param.sharded_param) in names
            ),
            is_resharded=group.post_forward_mesh_info is not None,
        )
        for key, group in groups.items()
    )


def blocks_of(model: nn.Module) -> tuple[str, ...]:
    """Return the names of the model's blocks."""
    modules = model.named_modules()
    return tuple(plain_name(name) for name, module in modules if isinstance(module, toys.Block))


def owners_of(parameters: Iterable[str], units: Iterable[Unit]) -> dict[str, Unit]:
    """Return the unit that owns each parameter; one without a unit is left out."""
    owner = {name: unit for unit in units for name in unit.parameters}
    return {name: owner[name] for name in parameters if name in owner}


def expected_collectives(
    units: Iterable[Unit],
    shapes: Mapping[str, tuple[int, ...]],
    frozen: Sequence[str],
    num_shards: int,
) -> tuple[Collectives, Collectives]:
    """Return those of forward and of backward: each unit gathers its parameters before it runs,
    again in backward if forward freed them, and reduce-scatters the gradients of those trained."""
    forward: Collectives = Counter()
    backward: Collectives = Counter()
    for unit in units if num_shards > 1 else ():
        sizes = {name: padded_numel(shapes[name], num_shards) for name in unit.parameters}
        trained = sum(size for name, size in sizes.items() if name not in frozen)
        forward["all_gather", sum(sizes.values())] += 1
        if unit.is_resharded:
            backward["all_gather", sum(sizes.values())] += 1
        backward["reduce_scatter", trained] += 1
    return forward, backward
