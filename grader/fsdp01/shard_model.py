"""Step 2: every block is a unit, every rank holds its rows, and the units' collectives run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

import sandbox
from grader.cases import CASES, FLOAT32, Case, new_mesh
from grader.fsdp01 import judge_sharding
from grader.fsdp01.exercise import Check
from grader.fsdp01.units import Unit, blocks_of, owners_of, units_of
from grader.held import array_bytes, live_storages, new_bytes
from grader.shards import Shard, shards_of
from grader.truth import train, weights_of
from sandbox import toys
from sandbox.errors import CollectiveMismatchError, DeadlockError
from sandbox.run import Run

ShardModel = Callable[[nn.Module, DeviceMesh], nn.Module]


@dataclass(frozen=True)
class Observation:
    """What one rank saw of the sharded model; `loss` is None where no step could be run."""

    returned: str
    is_in_place: bool = False  # the model that was given has the parameters of the returned one
    weights: dict[str, Shard] = field(default_factory=dict)
    held_bytes: int = 0
    blocks: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    loss: float | None = None
    gradients: dict[str, Shard] = field(default_factory=dict)


def check_shard_model(shard_model: ShardModel) -> None:
    """Judge `shard_model(model, mesh) -> model` on 1 to 4 ranks."""
    proof = (
        "every block is a unit, each rank holds its rows and not a byte more, the collectives\n"
        "  are those of the units, and the gradients are right: on 1, 2, 3 and 4 ranks"
    )
    with Check("shard_model", proof, shard_model) as check:
        # A model in float32 first: a single one is enough, its sharding alone is judged.
        run = check.launch(
            observe,
            shard_model,
            FLOAT32,
            is_stepping=False,
            world_size=FLOAT32.world_size,
            case=FLOAT32.text,
        )
        weights = weights_of(FLOAT32.new_model())
        check.judge(judge_sharding.judge_structure(run.results, weights))
        for case in CASES:
            model = case.new_model()
            weights = weights_of(model)
            run = _launch(check, shard_model, case, weights)
            [truth] = train(model, 0.0, [case.global_tokens(0)])
            check.judge(judge_sharding.judge_structure(run.results, weights))
            check.judge(judge_sharding.judge_step(run.results, run.ledger, truth, case))


def _launch(
    check: Check, shard_model: ShardModel, case: Case, weights: Mapping[str, Tensor]
) -> Run:
    """Observe; where ranks hang, look again without a step, for what is wrong before it."""
    where: dict[str, Any] = {"world_size": case.world_size, "case": case.text}
    try:
        return check.launch(observe, shard_model, case, **where)
    except (DeadlockError, CollectiveMismatchError):
        run = check.launch(observe, shard_model, case, is_stepping=False, **where)
        check.judge(judge_sharding.judge_structure(run.results, weights))
        raise


def observe(shard_model: ShardModel, case: Case, is_stepping: bool = True) -> Observation:
    """Shard a model, look at what is held, and run one forward and backward if that can work."""
    mesh = new_mesh()
    before = live_storages()
    given = case.new_model()
    model = shard_model(given, mesh)
    if not isinstance(model, nn.Module):
        return Observation(returned=type(model).__name__)
    is_in_place = set(map(id, given.parameters())) == set(map(id, model.parameters()))
    held_bytes = new_bytes(before) + array_bytes(model)
    weights = shards_of(model.named_parameters())
    blocks = blocks_of(model)
    units = units_of(model)
    loss = None
    unit_modules = {name for unit in units for name in unit.modules}
    is_whole = owners_of(weights, units).keys() == weights.keys()
    if is_stepping and is_whole and set(blocks) <= unit_modules:
        loss = _run_step(model, case)
        units = units_of(model)
    gradients = shards_of((name, weight.grad) for name, weight in model.named_parameters())
    return Observation("Module", is_in_place, weights, held_bytes, blocks, units, loss, gradients)


def _run_step(model: nn.Module, case: Case) -> float:
    """Run one forward and one backward, each a phase of its own; return this rank's loss."""
    tokens = case.tokens(0, dist.get_rank()).to(sandbox.device())
    sandbox.mark("forward")
    loss = toys.next_token_loss(model(tokens), tokens)
    sandbox.mark("backward")
    loss.backward()
    sandbox.mark("end")
    return loss.item()
