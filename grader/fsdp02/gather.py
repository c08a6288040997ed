"""Step 4: gather and release, for parameters that are whole only while their layer runs."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from grader.cases import CASES, Case
from grader.fsdp02.exercise import Check
from grader.fsdp02.flat import FlatParameters, shard_parameters
from grader.fsdp02.held_aside import aside_bytes, judge_aside, locals_of, tensors_of
from grader.held import live_storages
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.shards import Shard, shards_of
from grader.verdict import Failure
from sandbox import toys
from sandbox.memory.category import Category
from sandbox.memory.history import Memory
from sandbox.memory.sample import Sample

Gather = Callable[[FlatParameters], None]
Release = Callable[[FlatParameters], None]
UPDATE = 0.5  # what shards are multiplied by between two gathers: exact


@dataclass(frozen=True)
class Seen:
    """What one rank saw: the gathered values, and whole gradients of one forward and backward."""

    gathered: dict[str, Shard]
    updated: dict[str, Shard] = field(default_factory=dict)  # gathered again, from other shards
    gradients: dict[str, Shard] = field(default_factory=dict)
    largest_bytes: int = 0  # of all that is gathered at the same time: the root and one block
    shards_bytes: int = 0
    aside_bytes: int = 0  # held beside the shards while nothing is gathered


def check_gather(gather: Gather, release: Release) -> None:
    """Judge the pair on a model whose blocks are gathered for forward and again for backward."""
    proof = (
        "gathered parameters are the model's, backward sees them again, and between the two a\n"
        "  rank holds none of them whole: on 1, 2, 3 and 4 ranks"
    )
    with Check("gather", proof, gather, release) as check:
        for case in CASES:
            run = check.launch(
                observe,
                gather,
                release,
                case,
                world_size=case.world_size,
                memory=True,
                case=case.text,
            )
            seen = run.results
            check.judge(judge_values([rank.gathered for rank in seen], case))
            check.judge(judge_updated([rank.updated for rank in seen], case))
            largest = seen[0].largest_bytes
            check.judge(judge_released(run.memory, case.world_size, largest))
            aside = [rank.aside_bytes for rank in seen]
            check.judge(judge_aside(aside, seen[0].shards_bytes))
            check.judge(judge_gradients([rank.gradients for rank in seen], case))


def observe(gather: Gather, release: Release, case: Case) -> Seen:
    """Gather and release each block around its forward, and again around its backward."""
    before = live_storages()
    model = case.new_model().to(sandbox.device())
    in_blocks = set(model.blocks.parameters())
    root = shard_parameters([p for p in model.parameters() if p not in in_blocks])
    blocks = [shard_parameters(list(block.parameters())) for block in model.blocks]
    gathered = _gather_each(gather, release, model, [root, *blocks])
    if not gathered:
        return Seen(gathered)
    with torch.no_grad():
        for flat in (root, *blocks):
            flat.shard.mul_(UPDATE)
    updated = _gather_each(gather, release, model, [root, *blocks])
    known = [*tensors_of([root, *blocks], model), *locals_of([gathered, updated])]
    aside = aside_bytes(before, known)
    _hook(model, root, gather, release)
    for block, flat in zip(model.blocks, blocks, strict=True):
        _hook(block, flat, gather, release)
    tokens = case.tokens(0, dist.get_rank()).to(sandbox.device())
    toys.next_token_loss(model(tokens), tokens).backward()
    gradients = shards_of((name, p.grad) for name, p in model.named_parameters())
    sizes = [flat.whole.numel() * flat.whole.itemsize for flat in blocks]
    root_bytes = root.whole.numel() * root.whole.itemsize
    shards_bytes = sum(flat.shard.nbytes for flat in (root, *blocks))
    return Seen(gathered, updated, gradients, root_bytes + max(sizes), shards_bytes, aside)


def _gather_each(
    gather: Gather, release: Release, model: nn.Module, flats: Sequence[FlatParameters]
) -> dict[str, Shard]:
    """Return the values of all parameters, gathered one flat tensor after the other."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found: dict[str, Shard] = {}
    for flat in flats:
        gather(flat)
        if not all(parameter.untyped_storage().nbytes() for parameter in flat.parameters):
            return {}
        found |= shards_of((names[id(p)], p) for p in flat.parameters)
        release(flat)
    return found


def _hook(module: nn.Module, flat: FlatParameters, gather: Gather, release: Release) -> None:
    """Gather before forward and backward; release after forward, and where backward goes on."""

    def after_forward(module: nn.Module, args: Any, output: Tensor) -> None:
        release(flat)
        output.register_hook(functools.partial(_gather_again, gather, flat))

    module.register_forward_pre_hook(lambda *_: gather(flat))
    module.register_forward_hook(after_forward)


def _gather_again(gather: Gather, flat: FlatParameters, gradient: Tensor) -> None:
    gather(flat)


def judge_values(
    gathered: Sequence[dict[str, Shard]], case: Case, scale: float = 1.0
) -> Failure | None:
    """Judge that after gather each parameter has the model's values, on every rank."""
    for rank, found in enumerate(gathered):
        if not found:
            return Failure(
                mistake=Mistake.NOT_GATHERED,
                expected="parameters with values after gather(flat)",
                came="parameters whose storage has no bytes",
                where=f"rank {rank}",
                next_step="give whole.untyped_storage() its bytes back, then gather into whole",
            )
    weights = dict(case.new_model().named_parameters())
    plain = {name: weight.detach() for name, weight in weights.items()}
    difference = find_difference(gathered, plain, scale)
    if difference is None:
        return None
    return replace(
        difference.as_failure(Mistake.NOT_GATHERED, "weight"),
        next_step="dist.all_gather_into_tensor(flat.whole, flat.shard.detach())",
    )


def judge_updated(updated: Sequence[dict[str, Shard]], case: Case) -> Failure | None:
    """Judge that a gather brings what the shards hold now, not what was gathered before."""
    failure = judge_values(updated, case, UPDATE)
    return failure and replace(failure, where=f"{failure.where}, after an update of the shards")


def judge_released(memory: Memory, world_size: int, largest_bytes: int) -> Failure | None:
    """Judge that nothing is whole at the end of forward, and never more than root and a block."""
    for rank in range(world_size):
        samples = [sample for sample in memory.of_rank(rank) if sample.phase == "forward"]
        left = _whole(memory.at("forward", rank))
        most = max(map(_whole, samples))
        if left or most > largest_bytes:
            return Failure(
                mistake=Mistake.PARAMETERS_NOT_RELEASED,
                expected="no parameter left whole after forward"
                if left
                else f"at most {largest_bytes:,} bytes whole at once: root and one block",
                came=f"{left or most:,} bytes",
                where=f"rank {rank}",
            )
    return None


def _whole(sample: Sample) -> int:
    return sample.bytes[Category.PARAMETERS] or 0


def judge_gradients(gradients: Sequence[dict[str, Shard]], case: Case) -> Failure | None:
    """Judge the gradients of each rank's own samples: backward saw the right weights."""
    for rank, found in enumerate(gradients):
        model = case.new_model()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(UPDATE)
        tokens = case.tokens(0, rank)
        toys.next_token_loss(model(tokens), tokens).backward()
        expected = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        if difference := find_difference([found], expected):
            failure = difference.as_failure(Mistake.WRONG_GRADIENT, "gradient")
            return replace(
                failure,
                where=failure.where.replace("rank 0", f"rank {rank}"),
                next_step="gather into the storage that release freed: autograd has views of it",
            )
    return None
