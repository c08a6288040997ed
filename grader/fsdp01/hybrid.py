"""Bonus: sharded inside groups of ranks, replicated between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn

import sandbox
from grader.cases import SHALLOW, TIED, Case
from grader.fsdp01.exercise import Check
from grader.fsdp01.judge_units import judge_units
from grader.fsdp01.units import Unit, blocks_of, units_of
from grader.judge_step import judge_gradients
from grader.mistakes import Mistake
from grader.shards import Shard, chunk_rows, shards_of
from grader.truth import StepTruth, train
from grader.verdict import Failure
from sandbox import toys
from sandbox.ledger import Ledger

ShardHybrid = Callable[[nn.Module, int, int], nn.Module]
PLACEMENTS = ("R", "S(0)")


@dataclass(frozen=True)
class HybridCase:
    """A mesh of `num_replicas` rows of `num_shards` ranks each, and what is trained on it."""

    num_replicas: int
    num_shards: int
    case: Case

    @property
    def mesh(self) -> list[list[int]]:
        """Return the ranks of the mesh, row by row."""
        ranks: list[list[int]] = (
            torch.arange(self.num_replicas * self.num_shards).view(-1, self.num_shards).tolist()
        )
        return ranks


CASES = (
    HybridCase(2, 2, Case(world_size=4, model=SHALLOW, data_seed=1)),
    HybridCase(1, 3, Case(world_size=3, model=TIED, data_seed=2)),
    HybridCase(2, 1, Case(world_size=2, model=TIED, data_seed=3)),
)


@dataclass(frozen=True)
class Observation:
    """What one rank saw of the sharded model and of one step of it."""

    returned: str
    weights: dict[str, Shard] = field(default_factory=dict)
    blocks: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    gradients: dict[str, Shard] = field(default_factory=dict)


def check_shard_hybrid(shard_hybrid: ShardHybrid) -> None:
    """Judge `shard_hybrid(model, num_replicas, num_shards) -> model` on 2 × 2 and other meshes."""
    proof = "shards in the rows of the mesh, replicas in its columns: 2 × 2, 1 × 3 and 2 × 1"
    with Check("shard_hybrid", proof, shard_hybrid) as check:
        for hybrid in CASES:
            case = hybrid.case
            text = f"mesh {hybrid.num_replicas} × {hybrid.num_shards}: {case.text}"
            run = check.launch(observe, shard_hybrid, hybrid, world_size=case.world_size, case=text)
            batches = [case.global_tokens(0)]
            [truth] = train(case.new_model(), 0.0, batches)
            check.judge(judge(run.results, run.ledger, truth, hybrid))


def observe(shard_hybrid: ShardHybrid, hybrid: HybridCase) -> Observation:
    """Shard a model and run one forward and backward between two marks."""
    case = hybrid.case
    model = shard_hybrid(case.new_model(), hybrid.num_replicas, hybrid.num_shards)
    if not isinstance(model, nn.Module):
        return Observation(type(model).__name__)
    weights = shards_of(model.named_parameters())
    blocks, units = blocks_of(model), units_of(model)
    tokens = case.tokens(0, dist.get_rank()).to(sandbox.device())
    sandbox.mark("step")
    toys.next_token_loss(model(tokens), tokens).backward()
    sandbox.mark("end")
    gradients = shards_of((name, weight.grad) for name, weight in model.named_parameters())
    return Observation("Module", weights, blocks, units, gradients)


def judge(
    seen: Sequence[Observation], ledger: Ledger, truth: StepTruth, hybrid: HybridCase
) -> Failure | None:
    """Judge placements, rows, the groups of the collectives, and the gradients."""
    failure = None
    for rank, observation in enumerate(seen):
        failure = failure or (
            _judge_placements(observation, rank, truth, hybrid)
            or judge_units(observation.blocks, observation.units)
            or _judge_groups(ledger, rank, hybrid)
        )
    return failure or judge_gradients([observation.gradients for observation in seen], [truth])


def _judge_placements(
    observation: Observation, rank: int, truth: StepTruth, hybrid: HybridCase
) -> Failure | None:
    """Judge where each parameter lies: replicated over the mesh's columns, sharded in its rows."""
    where = f"rank {rank}"
    if observation.returned != "Module":
        expected, came = "the sharded model", observation.returned
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=came, where=where)
    expected = f"{', '.join(PLACEMENTS)} on the mesh {hybrid.mesh}"
    for name, whole in truth.weights.items():
        shard = observation.weights.get(name)
        if shard is None:
            expected, came = "the model itself", f"no parameter '{name}'"
            return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=came, where=where)
        rows = chunk_rows(len(whole), rank % hybrid.num_shards, hybrid.num_shards)
        is_2d = shard.placements == PLACEMENTS
        is_placed = is_2d and shard.mesh == hybrid.mesh
        if is_placed and torch.equal(shard.local, whole[slice(*rows)]):
            continue
        return Failure(
            mistake=Mistake.HYBRID_AXES_SWAPPED if is_2d else Mistake.NOT_HYBRID,
            expected=expected,
            came=f"{', '.join(shard.placements or ('a plain tensor',))} on the mesh {shard.mesh}",
            where=f"{where}, '{name}'",
        )
    return None


def _judge_groups(ledger: Ledger, rank: int, hybrid: HybridCase) -> Failure | None:
    """Judge who talks to whom: gathers and reductions in the row, the all-reduce in the column."""
    row = tuple(hybrid.mesh[rank // hybrid.num_shards])
    column = tuple(ranks[rank % hybrid.num_shards] for ranks in hybrid.mesh)
    group_of = {"all_gather": row, "reduce_scatter": row, "all_reduce": column}
    expected = {(op, group) for op, group in group_of.items() if len(group) > 1}
    events = ledger.phases(rank)[-2]
    came = {(event.op.value, event.group) for event in events if len(event.group) > 1}
    if came == expected:
        return None
    return Failure(
        mistake=Mistake.WRONG_COLLECTIVES,
        expected=_list(expected),
        came=_list(came),
        where=f"rank {rank}",
    )


def _list(collectives: set[tuple[str, tuple[int, ...]]]) -> str:
    return ", ".join(f"{op} in ranks {list(group)}" for op, group in sorted(collectives)) or "none"
