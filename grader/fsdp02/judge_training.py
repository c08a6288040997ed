"""Judge training by hand: the optimizer, bytes from the memory record, traffic, and numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from grader.cases import Case
from grader.fsdp02.held_aside import judge_aside
from grader.fsdp02.training import LEARNING_RATE, NUM_STEPS, Layout, Seen
from grader.judge_step import judge_arrived
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.truth import StepTruth
from grader.verdict import Failure
from sandbox.ledger import Ledger
from sandbox.memory.category import Category
from sandbox.memory.history import Memory

ITEMSIZE = 8  # the cases train in float64


def judge_returned(seen: Sequence[Seen], expected: str) -> Failure | None:
    """Judge that every rank returned a pair of the right kinds."""
    for rank, observation in enumerate(seen):
        if came := observation.returned:
            return Failure(
                mistake=Mistake.WRONG_RESULT, expected=expected, came=came, where=f"rank {rank}"
            )
    return None


def judge_layouts(seen: Sequence[Seen]) -> Failure | None:
    """Judge what the optimizer holds, and that layers find their parameters, on every rank."""
    for rank, observation in enumerate(seen):
        assert observation.layout is not None
        failure = _judge_optimizer(observation.layout, len(seen)) or _judge_gathered(observation)
        if failure:
            return replace(failure, where=f"rank {rank}")
    return None


def _judge_gathered(observation: Seen) -> Failure | None:
    if not observation.not_gathered:
        return None
    return Failure(
        mistake=Mistake.NOT_GATHERED_IN_TIME,
        expected=f"'{observation.not_gathered}' gathered before its layer runs",
        came="a storage of 0 bytes",
    )


def _judge_optimizer(layout: Layout, world_size: int) -> Failure | None:
    if layout.optimizer_kind != "AdamW" or set(layout.lrs) != {LEARNING_RATE}:
        lrs = ", ".join(map(str, layout.lrs))
        return Failure(
            mistake=Mistake.WRONG_OPTIMIZER,
            expected=f"AdamW with lr={LEARNING_RATE}",
            came=f"{layout.optimizer_kind} with lr={lrs}",
            next_step="use torch.optim.AdamW with this lr, all else as torch has it",
        )
    trained = layout.trained_numels
    if not layout.num_others_held and not layout.num_shards_missing:
        return None
    is_whole = world_size > 1 and layout.optimizer_numel > 2 * sum(trained) // world_size
    return Failure(
        mistake=Mistake.OPTIMIZER_REPLICATED
        if is_whole or world_size == 1
        else Mistake.OPTIMIZER_WITHOUT_SHARDS,
        expected=f"{len(trained)} shards of {sum(trained) // world_size:,} elements in all",
        came=f"{layout.optimizer_numel:,} elements, {layout.num_others_held} tensors that are no "
        "shard",
    )


def judge_numbers(
    seen: Sequence[Seen],
    truths: Sequence[StepTruth],
    case: Case,
    last_micro: Mapping[str, Tensor] | None = None,
) -> Failure | None:
    """Judge each step: the gradients that it used, then the weights that it left."""
    for step, truth in enumerate(truths):
        arrived = [observation.arrived[step : step + 1] for observation in seen]
        if failure := judge_arrived(arrived, truths[: step + 1], float("inf")):
            if last_micro is not None and step == 0 and all(map(len, arrived)):
                is_last = find_difference([steps[0] for steps in arrived], last_micro) is None
                if is_last:
                    failure = replace(failure, mistake=Mistake.ACCUMULATION_LOST)
            return replace(failure, where=f"{failure.where}, step {step}", next_step=_next(failure))
        weights = [observation.weights[step] for observation in seen]
        if difference := find_difference(weights, truth.weights):
            mistake = Mistake.WRONG_WEIGHTS
            if difference.name in case.frozen:
                mistake = Mistake.FROZEN_CHANGED
            elif _is_own_right(seen, step, truth):
                mistake = Mistake.NOT_GATHERED
            failure = difference.as_failure(mistake, "weight")
            return replace(failure, where=f"{failure.where}, step {step}")
    return None


def _is_own_right(seen: Sequence[Seen], step: int, truth: StepTruth) -> bool:
    """Whether each rank's own partition is right, so that only the others' have not come."""
    for observation in seen:
        for name, shard in observation.weights[step].items():
            mine = observation.arrived[step].get(name)
            if mine is None or not len(mine.local):
                continue
            first, last = mine.first_row, mine.first_row + len(mine.local)
            whole = truth.weights[name]
            own = shard.local[first:last] if len(shard.local) == len(whole) else shard.local
            part = replace(mine, local=own)
            if find_difference([{name: part}], {name: whole}):
                return False
    return True


def _next(failure: Failure) -> str:
    """Return what to do where the mistake's own words are about FSDP2."""
    return {
        Mistake.GRADIENTS_SUMMED: "op=dist.ReduceOp.AVG, or divide by world_size once",
        Mistake.GRADIENTS_AVERAGED_TWICE: "average once: ReduceOp.AVG divides already",
        Mistake.GRADIENTS_ACCUMULATED: "after each step, set shard.grad and all gradients to None",
        Mistake.WRONG_GRADIENT: "average each gradient over the ranks, once, and keep the order",
        Mistake.NO_GRADIENT: "set shard.grad, this rank's partition, before optimizer.step()",
    }.get(failure.mistake, "")


# -- bytes ----------------------------------------------------------------------------------------


def _shard_bytes(layout: Layout, world_size: int) -> int:
    return sum(layout.trained_numels) // world_size * ITEMSIZE


def judge_moments(memory: Memory, layout: Layout, world_size: int, copies: int) -> Failure | None:
    """Judge the optimizer's bytes: two moments of each shard, and at most `copies` of it."""
    share = _shard_bytes(layout, world_size)
    for rank in range(world_size):
        sample = memory.at("step", rank)
        held = (sample.bytes[Category.OPTIMIZER] or 0) - sample.facts.step_counters
        if held > (2 + copies) * share:
            return Failure(
                mistake=Mistake.OPTIMIZER_REPLICATED,
                expected=f"{2 * share:,} bytes of moments: two per element of its shard",
                came=f"{held:,} bytes",
                where=f"rank {rank}",
            )
    return None


def judge_gradient_bytes(memory: Memory, layout: Layout, world_size: int) -> Failure | None:
    """Judge that after backward only the shards' gradients are left, to the byte."""
    share = _shard_bytes(layout, world_size)
    for rank in range(world_size):
        for step in range(NUM_STEPS):
            held = memory.at("backward", rank, step).bytes[Category.GRADIENTS] or 0
            if held > share:
                return Failure(
                    mistake=Mistake.GRADIENTS_KEPT_WHOLE,
                    expected=f"{share:,} bytes of gradients after backward",
                    came=f"{held:,} bytes",
                    where=f"rank {rank}, step {step}",
                )
    return None


def judge_gradients_freed(memory: Memory, layout: Layout, world_size: int) -> Failure | None:
    """Judge that in the next forward at most the shards' own gradients are left."""
    share = _shard_bytes(layout, world_size)
    for rank in range(world_size):
        held = memory.at("forward", rank).bytes[Category.GRADIENTS] or 0
        if held > share:
            return Failure(
                mistake=Mistake.GRADIENTS_KEPT_WHOLE,
                expected=f"at most {share:,} bytes of gradients left after a step",
                came=f"{held:,} bytes in the next forward",
                where=f"rank {rank}",
                next_step="set every parameter.grad, and shard.grad, to None",
            )
    return None


def judge_copies(
    seen: Sequence[Seen], layout: Layout, *, may_keep_whole: bool = False
) -> Failure | None:
    """Judge that no rank keeps copies of what is partitioned, of whatever kind, anywhere.

    With `may_keep_whole`, a buffer for whole gradients may stay: stage 1 has them on every rank.
    """
    numel = sum(layout.numels) if may_keep_whole else sum(layout.numels) // len(seen)
    aside = [observation.aside_bytes for observation in seen]
    return judge_aside(aside, numel * ITEMSIZE)


# -- traffic --------------------------------------------------------------------------------------


def step_events(ledger: Ledger, rank: int) -> list[Ledger]:
    """Return one rank's events of each training step: backward passes and the step together."""
    phases = ledger.phases(rank)[-3 * NUM_STEPS :]
    return [Ledger([*phases[3 * step], *phases[3 * step + 1]]) for step in range(NUM_STEPS)]


def judge_traffic(
    ledger: Ledger, world_size: int, expected: Mapping[str, int], may_all_reduce: bool = False
) -> Failure | None:
    """Judge the elements of each operation in every step; `expected` maps op -> elements.

    With `may_all_reduce`, gradients may be all-reduced instead of reduce-scattered.
    """
    for rank in range(world_size) if world_size > 1 else ():
        for step, events in enumerate(step_events(ledger, rank)):
            came = Counter[str]()
            for event in events:
                came[event.op.value] += event.numel
            allowed = [dict(expected)]
            if may_all_reduce:
                allowed.append({**expected, "all_reduce": expected["reduce_scatter"]})
                del allowed[1]["reduce_scatter"]
            if dict(came) in allowed:
                continue
            return Failure(
                mistake=_name_traffic(came, expected),
                expected=_list(expected),
                came=_list(came),
                where=f"rank {rank}, step {step}",
            )
    return None


def _name_traffic(came: Mapping[str, int], expected: Mapping[str, int]) -> Mistake:
    if came.get("all_reduce", 0) >= expected["reduce_scatter"]:
        return Mistake.ALL_REDUCE_FOR_REDUCE_SCATTER
    if not came.get("all_gather") and not came.get("broadcast"):
        return Mistake.NOT_GATHERED
    return Mistake.WRONG_TRAFFIC


def _list(elements: Mapping[str, int]) -> str:
    return ", ".join(f"{op} of {n:,} elements" for op, n in sorted(elements.items())) or "nothing"
