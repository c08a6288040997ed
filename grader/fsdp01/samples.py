"""Step 4: every rank its own slice of the data, the slices together the epoch exactly once."""

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from grader.cases import count_ranks
from grader.fsdp01.exercise import Check
from grader.mistakes import Mistake
from grader.verdict import Failure
from grader.whereabouts import elsewhere, random_state

SampleIds = Callable[[int, int, int, int, int], Sequence[int]]
Slices = list[list[int]]  # one list of sample ids per rank

NUM_EPOCHS = 7
CASES = ((12, 1), (24, 2), (36, 3), (48, 4))  # (num_samples, world_size)
SEEDS = (0, 5)
MAX_SHOWN = 6
MIN_TO_JUDGE_ORDER = 12


def check_sample_ids(sample_ids: SampleIds) -> None:
    """Judge `sample_ids(num_samples, epoch, seed, rank, world_size) -> list of ids`."""
    proof = "each epoch exactly once, in equal slices, reshuffled, on 1, 2, 3 and 4 ranks"
    with Check("sample_ids", proof, sample_ids) as check:
        first, second = (
            check.launch(launched, sample_ids, world_size=1).results[0]
            for launched in (observe, observe_elsewhere)
        )
        check.judge(judge_all(first, second))
        check.judge(judge_state(check.launch(changes_state, sample_ids, world_size=1).results[0]))


def changes_state(sample_ids: SampleIds) -> str:
    """Return whose global random state a call changes, "" if none."""
    before = random_state()
    sample_ids(12, 1, 5, 0, 2)
    after = random_state()
    return next((name for name in before if before[name] != after[name]), "")


def judge_state(changed: str) -> Failure | None:
    """Judge that whatever else draws at random is left alone."""
    if not changed:
        return None
    expected, came = "a generator of your own", f"the global state of {changed} was changed"
    return Failure(mistake=Mistake.GLOBAL_RANDOM_STATE, expected=expected, came=came)


def observe(sample_ids: SampleIds) -> list[list[Slices] | str]:
    """Return the slices of every epoch, for each case and seed; a text where it is no list."""
    return [
        _slices_of_epochs(sample_ids, num_samples, seed, world_size)
        for num_samples, world_size in CASES
        for seed in SEEDS
    ]


def observe_elsewhere(sample_ids: SampleIds) -> list[list[Slices] | str]:
    """Observe as in another Python, an hour or more later; `hash` of a text is another number."""
    with elsewhere():
        return observe(sample_ids)


def _slices_of_epochs(
    sample_ids: SampleIds, num_samples: int, seed: int, world_size: int
) -> list[Slices] | str:
    epochs = []
    for epoch in range(NUM_EPOCHS):
        slices = []
        for rank in range(world_size):
            ids = _as_ids(sample_ids(num_samples, epoch, seed, rank, world_size))
            if isinstance(ids, str):
                return ids
            slices.append(ids)
        epochs.append(slices)
    return epochs


def _as_ids(answer: Any) -> list[int] | str:
    """Return the ids of a list, tuple, range, or 1-D tensor or array of ints; else what it is."""
    kind = type(answer).__name__
    ids = answer.tolist() if hasattr(answer, "tolist") else answer
    if not isinstance(ids, list | tuple | range):
        return kind
    try:
        return list(map(operator.index, ids))
    except TypeError:
        return f"a {kind} of {type(next(iter(ids))).__name__}"


def judge_all(first: list[list[Slices] | str], second: list[list[Slices] | str]) -> Failure | None:
    """Judge every case; the second call must have given what the first one did."""
    num_samples_of = [num_samples for num_samples, _ in CASES for _ in SEEDS]
    for num_samples, epochs, again in zip(num_samples_of, first, second, strict=True):
        if isinstance(epochs, str):
            expected = "a list of ints"
            return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=epochs)
        if epochs != again:
            return Failure(mistake=Mistake.NOT_DETERMINISTIC, where=f"{num_samples} samples")
        failure = judge_slices(epochs, num_samples)
        if failure is not None:
            return failure
    return _judge_seeds(first)


def _judge_seeds(answers: Sequence[Any]) -> Failure | None:
    """Judge that the two seeds of each case give other slices, epoch by epoch."""
    for case, (num_samples, _) in enumerate(CASES):
        one, other = answers[len(SEEDS) * case : len(SEEDS) * (case + 1)]
        for epoch, (slices, others) in enumerate(zip(one, other, strict=True)):
            if slices == others:
                return Failure(
                    mistake=Mistake.SEED_IGNORED,
                    expected=f"another order for seed {SEEDS[1]} than for seed {SEEDS[0]}",
                    came=f"{_shorten(slices[0])} for both",
                    where=f"epoch {epoch}, {num_samples} samples, rank 0",
                )
    return None


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
                    came=f"{_shorten(one)} in epoch {first}, {_shorten(other)} in epoch {second}",
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
                    came="; ".join(f"epoch {i}: {_shorten(own)}" for i, own in shown),
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
        came = f"every rank has {_shorten(slices[0])}"
        return Failure(mistake=Mistake.SAME_DATA_ON_EVERY_RANK, came=came)
    if twice:
        came = f"more than once: {_shorten(twice)}; never: {_shorten(missing)}"
        return Failure(mistake=Mistake.SAMPLES_TWICE, expected="each sample once", came=came)
    if len(set(lengths)) > 1:
        expected = f"{num_samples // len(slices)} samples on every rank"
        return Failure(mistake=Mistake.UNEVEN_BATCHES, expected=expected, came=f"{lengths}")
    if missing or len(seen) > num_samples:
        came = f"never: {_shorten(missing)}"
        return Failure(mistake=Mistake.SAMPLES_LOST, expected="each sample once", came=came)
    return None


def _shorten(sample_ids: Sequence[int]) -> str:
    shown = ", ".join(map(str, sample_ids[:MAX_SHOWN]))
    return f"{shown}, …" if len(sample_ids) > MAX_SHOWN else shown or "none"
