"""The bytes of model states per rank that the ZeRO paper's formula gives, for every stage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.units import format_bytes

if TYPE_CHECKING:
    import torch

ITEMSIZES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
NUM_MOMENTS = {"adamw": 2, "adam": 2, "momentum": 1, "sgd": 0}  # elements kept per parameter
STAGES = {"DDP": 0, "NO_SHARD": 0, "SHARD_GRAD_OP": 2, "FULL_SHARD": 3}


@dataclass(frozen=True)
class ModelStates:
    """Bytes of parameters, gradients and optimizer states on one rank."""

    num_params: int
    world_size: int
    stage: int
    parameters: int
    gradients: int
    optimizer: int
    bytes_per_param: tuple[int, int, int]  # the same three, before anything is sharded
    has_master_weights: bool

    @property
    def total(self) -> int:
        """Bytes of all three."""
        return self.parameters + self.gradients + self.optimizer

    @property
    def state_itemsize(self) -> int:
        """Bytes of one element of the optimizer's states."""
        return 4 if self.has_master_weights else self.bytes_per_param[0]

    @property
    def num_moments(self) -> int:
        """Elements that the optimizer keeps per parameter, a copy of the weights aside."""
        return self.bytes_per_param[2] // self.state_itemsize - self.has_master_weights

    @property
    def accounting(self) -> str:
        """Which of the two ways to count it is: "mixed precision, 2 + 2 + 12 bytes …"."""
        parts = self.bytes_per_param
        name = "with fp32 master weights" if self.has_master_weights else "one precision"
        if self.has_master_weights and parts[0] == 2:
            name = "mixed precision"
        sums = " + ".join(map(str, parts))
        return f"{name}, {sums} = {sum(parts)} bytes per parameter"

    def __repr__(self) -> str:
        return (
            f"ModelStates(stage {self.stage}, world_size {self.world_size}, {self.num_params:,} "
            f"parameters, {self.accounting}: parameters {format_bytes(self.parameters)}, gradients "
            f"{format_bytes(self.gradients)}, optimizer {format_bytes(self.optimizer)}, total "
            f"{format_bytes(self.total)} per rank)"
        )


def model_states(
    num_params: float,
    world_size: int,
    stage: int | str,
    optimizer: str = "adamw",
    *,
    param_dtype: str | torch.dtype = "float32",
    master_weights: bool | None = None,
    alignment: int = 1,
) -> ModelStates:
    """Return the bytes of model states that each rank holds.

    `stage` is ZeRO's: 0 nothing is sharded, 1 the optimizer states are, 2 the gradients as well,
    3 the parameters as well. FSDP's names stand for the same: NO_SHARD or DDP, SHARD_GRAD_OP (whose
    parameters are whole only from forward to backward, and sharded in between), FULL_SHARD.

    With Ψ parameters and Adam: (2 + 2 + K) Ψ bytes in mixed precision, K = 12: an fp32 copy of the
    weights, momentum and variance; what a stage shards is divided by the number of ranks.
    Rajbhandari et al. 2020, "ZeRO", arXiv:1910.02054, sec. 3.1 and 5, fig. 1. All of it in fp32 is
    (4 + 4 + 8) Ψ: no copy. `master_weights` tells the two apart; by default, 16-bit parameters
    have them and others do not. `param_dtype` is that of parameters and gradients, or its name.

    A shard has ceil(Ψ / world_size) elements; with `alignment`, the whole is first padded to a
    multiple of world_size * alignment (DeepSpeed's is 2 in ZeRO-1 and 2: 42,804 become 42,808 on 4
    ranks). Activations, buffers and step counters are not model states.
    """
    param_dtype = str(param_dtype).removeprefix("torch.")
    number = _check(num_params, world_size, stage, optimizer, param_dtype, alignment)
    num_params = int(num_params)
    itemsize = ITEMSIZES[param_dtype]
    has_master_weights = itemsize == 2 if master_weights is None else master_weights
    state_itemsize = 4 if has_master_weights else itemsize
    num_state = NUM_MOMENTS[optimizer] + has_master_weights
    per_param = (itemsize, itemsize, num_state * state_itemsize)
    shard_numel = math.ceil(num_params / (world_size * alignment)) * alignment
    numels = [shard_numel if number >= first else num_params for first in (3, 2, 1)]
    parameters, gradients, states = (n * b for n, b in zip(numels, per_param, strict=True))
    return ModelStates(
        num_params=num_params,
        world_size=world_size,
        stage=number,
        parameters=parameters,
        gradients=gradients,
        optimizer=states,
        bytes_per_param=per_param,
        has_master_weights=has_master_weights,
    )


def _check(
    num_params: float,
    world_size: int,
    stage: int | str,
    optimizer: str,
    param_dtype: str,
    alignment: int,
) -> int:
    """Return the stage as a number; ValueError where an argument is not what it should be."""
    for name, value, least in (
        ("num_params", num_params, 0),
        ("world_size", world_size, 1),
        ("alignment", alignment, 1),
    ):
        is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not is_whole or value < least:
            raise ValueError(f"{name} is {value!r}, expected a whole number from {least}.")
    for name, given, known in (
        ("optimizer", optimizer, NUM_MOMENTS),
        ("param_dtype", param_dtype, ITEMSIZES),
    ):
        if given not in known:
            raise ValueError(f"{name} is {given!r}, expected one of {', '.join(known)}.")
    number = STAGES.get(stage.upper()) if isinstance(stage, str) else stage
    if number not in (0, 1, 2, 3):
        raise ValueError(f"stage is {stage!r}, expected 0, 1, 2, 3 or one of {', '.join(STAGES)}.")
    return number
