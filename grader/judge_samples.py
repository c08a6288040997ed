"""Judge which samples ranks train on: an epoch exactly once, in equal slices, reshuffled."""

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader.mistakes import Mistake
from grader.verdict import Failure
from grader.whereabouts import random_state
from sandbox.failure import count_ranks

Slices = list[list[int]]  # one list of sample ids per rank

MAX_SHOWN = 6
MIN_TO_JUDGE_ORDER = 12


def as_ids(answer: Any) -> list[int] | str:
    """Return the ids of a list, tuple, range, or 1-D tensor or array of ints; else what it is."""
    kind = type(answer).__name__
    ids = answer.tolist() if hasattr(answer, "tolist") else answer
    if not isinstance(ids, list | tuple | range):
        return kind
    try:
        return list(map(operator.index, ids))
    except TypeError:
        return f"a {kind} of {type(next(iter(ids))).__name__}"


def changes_state(draw: Callable[..., Any], *args: Any) -> str:
    """Return whose global random state `draw(*args)` changes, "" if none."""
    before = random_state()
    draw(*args)
    after = random_state()
    return next((name for name in before if before[name] != after[name]), "")


def judge_state(changed: str) -> Failure | None:
    """Judge that whatever else draws at random is left alone."""
    if not changed:
        return None
    expected, came = "a generator of your own", f"the global state of {changed} was changed"
    return Failure(mistake=Mistake.GLOBAL_RANDOM_STATE, expected=expected, came=came)


def steps_per_epoch(config: Mapping[str, Any]) -> int:
    """Return how many global batches an epoch has."""
    return int(config["num_samples"]) // int(config["global_batch_size"])


def judge_slices(epochs: Sequence[Slices], num_samples: int) -> Failure | None:
    """Judge the slices of consecutive epochs: exactly once, equal in number, reshuffled."""
    for epoch, slices in enumerate(epochs):
        failure = judge_epoch(slices, num_samples)
        if failure is not None:
            where = f"epoch {epoch}, {num_samples} samples on {count_ranks(len(slices))}"
            return replace(failure, where=where)
    return _judge_reshuffled(epochs) or _judge_order(epochs)


def _judge_reshuffled(epochs: Sequence[Slices]) -> Failure | None:
    """Judge that no rank sees the same samples in two epochs (alone: in the same order)."""
    num_ranks = len(epochs[0])
    for first, second in itertools.combinations(range(len(epochs)), 2):
        for rank in range(num_ranks):
            one, other = epochs[first][rank], epochs[second][rank]
            if one == other or (num_ranks > 1 and set(one) == set(other)):
                is_repeated = one == other
                return Failure(
                    mistake=(
                        Mistake.NO_SET_EPOCH if is_repeated else Mistake.SHUFFLED_INSIDE_SLICE
                    ),
                    expected="other samples for a rank in another epoch",
                    came=f"{shorten(one)} in epoch {first}, {shorten(other)} in epoch {second}",
                    where=f"rank {rank} of {num_ranks}",
                )
    return None


def _judge_order(epochs: Sequence[Slices]) -> Failure | None:
    """Judge the order of a rank's samples: not counted off, no rotation of another epoch's.

    A shuffle of 12 does either once in a million times.
    """
    for rank in range(len(epochs[0])):
        orders = [slices[rank] for slices in epochs]
        for epoch, order in enumerate(orders):
            if len(order) < MIN_TO_JUDGE_ORDER:
                continue
            num_samples = len(order) * len(epochs[0])
            steps = {(b - a) % num_samples for a, b in itertools.pairwise(order)}
            if len(steps) == 1 or any(_is_rotation(order, other) for other in orders[:epoch]):
                shown = enumerate(orders[: max(2, epoch + 1)][-2:], start=max(0, epoch - 1))
                return Failure(
                    mistake=Mistake.NOT_SHUFFLED,
                    expected="a shuffled order, another one in each epoch",
                    came="; ".join(f"epoch {i}: {shorten(own)}" for i, own in shown),
                    where=f"rank {rank} of {len(epochs[0])}",
                )
    return None


def _is_rotation(order: list[int], other: list[int]) -> bool:
    start = other.index(order[0]) if order[0] in other else 0
    return order == other[start:] + other[:start]


def judge_epoch(slices: Slices, num_samples: int) -> Failure | None:
    """Judge one epoch: all ranks' slices together hold every sample once."""
    seen = Counter(sample_id for entry in slices for sample_id in entry)
    twice = sorted(sample_id for sample_id, count in seen.items() if count > 1)
    missing = sorted(set(range(num_samples)) - seen.keys())
    lengths = [len(entry) for entry in slices]
    if len(slices) > 1 and all(set(entry) == set(slices[0]) for entry in slices):
        came = f"every rank has {shorten(slices[0])}"
        return Failure(mistake=Mistake.SAME_DATA_ON_EVERY_RANK, came=came)
    if twice:
        came = f"more than once: {shorten(twice)}; never: {shorten(missing)}"
        return Failure(mistake=Mistake.SAMPLES_TWICE, expected="each sample once", came=came)
    if len(set(lengths)) > 1:
        expected = f"{num_samples // len(slices)} samples on every rank"
        return Failure(mistake=Mistake.UNEVEN_BATCHES, expected=expected, came=f"{lengths}")
    if missing or len(seen) > num_samples:
        came = f"never: {shorten(missing)}"
        return Failure(mistake=Mistake.SAMPLES_LOST, expected="each sample once", came=came)
    return None


def shorten(sample_ids: Sequence[int]) -> str:
    """Return the first ids, separated by commas."""
    shown = ", ".join(map(str, sample_ids[:MAX_SHOWN]))
    return f"{shown}, …" if len(sample_ids) > MAX_SHOWN else shown or "none"
