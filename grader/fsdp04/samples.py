"""Step 1: a step's samples follow from the step alone, and the ranks divide them."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader.fsdp04.exercise import Check
from grader.judge_samples import (
    Slices,
    as_ids,
    changes_state,
    judge_epoch,
    judge_slices,
    judge_state,
    shorten,
    steps_per_epoch,
)
from grader.mistakes import Mistake
from grader.verdict import Failure
from grader.whereabouts import elsewhere
from sandbox.failure import count_ranks

SampleIds = Callable[[int, int, int, Mapping[str, Any]], Sequence[int]]
Batches = list[Slices]  # by step: the ids of each rank

NUM_EPOCHS = 5
WORLD_SIZES = (1, 2, 3, 4, 6)
CONFIGS = (
    {"num_samples": 96, "global_batch_size": 12, "seed": 0},
    {"num_samples": 96, "global_batch_size": 12, "seed": 7},
    {"num_samples": 60, "global_batch_size": 12, "seed": 3},
)


def check_sample_ids(sample_ids: SampleIds) -> None:
    """Judge `sample_ids(step, rank, world_size, config) -> list of ids`."""
    proof = (
        "each epoch exactly once and reshuffled, on 1, 2, 3, 4 and 6 ranks, and on ranks whose\n"
        "  number changes at every step"
    )
    with Check("sample_ids", proof, sample_ids) as check:
        first, second = (
            check.launch(launched, sample_ids, world_size=1).results[0]
            for launched in (observe, observe_elsewhere)
        )
        check.judge(judge(first, second))
        run = check.launch(changes_state, sample_ids, 3, 0, 2, CONFIGS[0], world_size=1)
        check.judge(judge_state(run.results[0]))


# -- observe --------------------------------------------------------------------------------------


def observe(sample_ids: SampleIds) -> list[list[Batches | str]]:
    """Return the batches of some epochs: per config, per world size; a text where it is no list."""
    return [[_batches(sample_ids, size, config) for size in WORLD_SIZES] for config in CONFIGS]


def observe_elsewhere(sample_ids: SampleIds) -> list[list[Batches | str]]:
    """Observe as in another Python, a day later; `hash` of a text is another number."""
    with elsewhere():
        return observe(sample_ids)


def _batches(sample_ids: SampleIds, world_size: int, config: Mapping[str, Any]) -> Batches | str:
    batches = []
    for step in range(NUM_EPOCHS * steps_per_epoch(config)):
        slices = []
        for rank in range(world_size):
            ids = as_ids(sample_ids(step, rank, world_size, dict(config)))
            if isinstance(ids, str):
                return ids
            slices.append(ids)
        batches.append(slices)
    return batches


# -- judge ----------------------------------------------------------------------------------------


def judge(first: list[list[Batches | str]], second: list[list[Batches | str]]) -> Failure | None:
    """Judge every config; the second call must have given what the first one did."""
    orders = []
    for config, by_size, again in zip(CONFIGS, first, second, strict=True):
        batches = []
        for entry in by_size:
            if isinstance(entry, str):
                expected = "a list of ints"
                return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=entry)
            batches.append(entry)
        if by_size != again:
            return Failure(mistake=Mistake.NOT_DETERMINISTIC)
        failure = judge_config(batches, config)
        if failure is not None:
            return failure
        orders.append([sorted(batch) for [batch] in batches[0]])
    if orders[0] == orders[1]:
        expected = "other batches for another seed"
        return Failure(mistake=Mistake.SEED_IGNORED, expected=expected, came="the same")
    return None


def judge_config(batches: Sequence[Batches], config: Mapping[str, Any]) -> Failure | None:
    """Judge the batches on each number of ranks, and on numbers that change."""
    num_samples, per_epoch = int(config["num_samples"]), steps_per_epoch(config)
    for steps in batches:
        if failure := _judge_batch_sizes(steps, int(config["global_batch_size"])):
            return failure
        epochs = [
            [list(itertools.chain(*ranks)) for ranks in zip(*epoch, strict=True)]
            for epoch in _chunk(steps, per_epoch)
        ]
        if failure := judge_slices(epochs, num_samples):
            return failure
    return _judge_resizes(batches, num_samples, per_epoch)


def _chunk(steps: Batches, per_epoch: int) -> list[Batches]:
    return [steps[first : first + per_epoch] for first in range(0, len(steps), per_epoch)]


def _judge_batch_sizes(steps: Batches, batch_size: int) -> Failure | None:
    """Judge that every rank has its equal share of the global batch in every step."""
    for step, slices in enumerate(steps):
        share = batch_size // len(slices)
        for rank, ids in enumerate(slices):
            if len(ids) != share:
                return Failure(
                    mistake=Mistake.WRONG_BATCH_SIZE,
                    expected=f"{share} ids: {batch_size} divided by {count_ranks(len(slices))}",
                    came=f"{len(ids)}: {shorten(ids)}",
                    where=f"rank {rank}, step {step}",
                    next_step="return this rank's part of one step, and none of the others",
                )
    return None


def _judge_resizes(batches: Sequence[Batches], num_samples: int, per_epoch: int) -> Failure | None:
    """Judge an epoch in which the number of ranks changes at every step."""
    sizes = [step % len(WORLD_SIZES) for step in range(per_epoch)]
    ids = [itertools.chain(*batches[size][step]) for step, size in enumerate(sizes)]
    failure = judge_epoch([list(itertools.chain(*ids))], num_samples)
    if failure is None:
        return None
    changing = ", ".join(str(WORLD_SIZES[size]) for size in sizes[: len(WORLD_SIZES)])
    return replace(
        failure,
        mistake=Mistake.BATCH_FOLLOWS_WORLD_SIZE,
        where=f"epoch 0, one step each on {changing}, … ranks",
    )
