"""Who owns a storage: live modules and optimizers, and what FSDP and DeepSpeed keep beside them."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sandbox.memory import owned_by_deepspeed, owned_by_fsdp
from sandbox.memory.category import Category
from sandbox.memory.claim import Claim
from sandbox.memory.sample import Facts
from sandbox.memory.storages import Storages, storages_of


class Owners:
    """The live modules and optimizers of a rank."""

    def __init__(self) -> None:
        # By id: a learner's class may define what is equal, and then have no hash.
        self._modules: weakref.WeakValueDictionary[int, nn.Module] = weakref.WeakValueDictionary()
        self._optimizers: weakref.WeakValueDictionary[int, Optimizer] = (
            weakref.WeakValueDictionary()
        )
        self._has_parameters = False
        self._has_optimizer = False

    def add(self, owner: nn.Module | Optimizer) -> None:
        """Note that there is a module, or an optimizer, for as long as it lives."""
        if isinstance(owner, Optimizer):
            self._optimizers[id(owner)] = owner
        else:
            self._modules[id(owner)] = owner

    def unknown(self) -> Iterator[Category]:
        """Yield the categories of which nothing can be known: what is kept by hand has no owner."""
        if not self._has_parameters:
            self._has_parameters = bool(self._optimizers) or any(
                module._parameters for module in self._modules.values()
            )
        if not self._has_parameters:
            yield from (Category.PARAMETERS, Category.GRADIENTS)
        self._has_optimizer = self._has_optimizer or bool(self._optimizers)
        if not self._has_optimizer:
            yield Category.OPTIMIZER

    def assign(self, storages: Storages) -> Facts:
        """Give every owned storage its category; the first claim to a storage counts.

        What a library keeps comes before what its modules show: the view of a shard, of the whole,
        or of nothing. What loses its owner keeps its category: a gradient put aside is still one.
        """
        modules, optimizers = list(self._modules.values()), list(self._optimizers.values())
        claimed = _Claimed(storages)
        claimed.take(owned_by_fsdp.claims(modules))
        claimed.take(owned_by_deepspeed.claims(modules))
        claimed.take(_claims(modules, optimizers))
        return claimed.facts()


class _Claimed:
    """What has been claimed in one look at all owners."""

    def __init__(self, storages: Storages) -> None:
        self._storages = storages
        self._owners: dict[int, Category] = {}  # by the storage's address
        self._seen: set[int] = set()
        self._padding = dict.fromkeys(Category, 0)
        self._step_counters = 0

    def take(self, claims: Iterable[Claim]) -> None:
        """Take in the claims of one source, to storages that no earlier source has claimed."""
        closed = set(self._owners)
        for claim in claims:
            if id(claim.tensor) in self._seen:
                continue
            self._seen.add(id(claim.tensor))
            for storage in storages_of(claim.tensor):
                if storage._cdata not in closed:
                    self._take(claim, storage)

    def facts(self) -> Facts:
        """Return what is known about the bytes beside their category."""
        return Facts(
            parameters_padding=max(self._padding[Category.PARAMETERS], 0),
            gradients_padding=max(self._padding[Category.GRADIENTS], 0),
            step_counters=self._step_counters,
        )

    def _take(self, claim: Claim, storage: torch.UntypedStorage) -> None:
        category, address = claim.category, storage._cdata
        owner = self._owners.get(address)
        if owner is None:
            self._owners[address] = category
            nbytes = self._storages.assign(storage, category)
            self._padding[category] += nbytes
            self._step_counters += nbytes if claim.is_counter else 0
        if owner is None or owner is category:
            self._padding[category] -= claim.used_bytes


def _claims(modules: list[nn.Module], optimizers: list[Optimizer]) -> Iterator[Claim]:
    parameters = [p for module in modules for p in module._parameters.values() if p is not None]
    for parameter in parameters:
        yield Claim(Category.PARAMETERS, parameter)
    yield from _gradients(parameters)
    # What an optimizer updates instead of a module's weights is a copy of them, as ZeRO's fp32
    # master weights are; beside all of them, it is a parameter that is held outside of modules.
    # (While FSDP has unsharded a weight, its module shows that, and the optimizer has the shard.)
    updated = {id(weight) for optimizer in optimizers for weight in _weights(optimizer)}
    updated |= owned_by_fsdp.unsharded_parameters(modules)
    has_copies = any(p.requires_grad and id(p) not in updated for p in parameters)
    for optimizer in optimizers:
        yield from _states(optimizer, Category.OPTIMIZER if has_copies else Category.PARAMETERS)


def _gradients(parameters: Iterable[Tensor]) -> Iterator[Claim]:
    for parameter in parameters:
        if parameter.is_leaf and parameter.grad is not None:
            yield Claim(Category.GRADIENTS, parameter.grad)


def _weights(optimizer: Optimizer) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _states(optimizer: Optimizer, category: Category) -> Iterator[Claim]:
    """Yield states, and the weights that no module has."""
    weights = _weights(optimizer)
    yield from _gradients(weights)
    for weight in weights:
        yield Claim(category, weight)
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, Tensor):
                yield Claim(Category.OPTIMIZER, value, is_counter=value.ndim == 0)
