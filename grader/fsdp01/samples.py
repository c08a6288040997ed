"""Step 4: every rank its own slice of the data, the slices together the epoch exactly once."""

from collections.abc import Callable, Sequence
from typing import Any

from grader.fsdp01.exercise import Check
from grader.judge_samples import (
    Slices,
    as_ids,
    changes_state,
    judge_slices,
    judge_state,
    shorten,
)
from grader.mistakes import Mistake
from grader.verdict import Failure
from grader.whereabouts import elsewhere

SampleIds = Callable[[int, int, int, int, int], Sequence[int]]
NUM_EPOCHS = 7
CASES = ((12, 1), (24, 2), (36, 3), (48, 4))  # (num_samples, world_size)
SEEDS = (0, 5)
ONE_CALL = (12, 1, 5, 0, 2)


def check_sample_ids(sample_ids: SampleIds) -> None:
    """Judge `sample_ids(num_samples, epoch, seed, rank, world_size) -> list of ids`."""
    proof = "each epoch exactly once, in equal slices, reshuffled, on 1, 2, 3 and 4 ranks"
    with Check("sample_ids", proof, sample_ids) as check:
        first, second = (
            check.launch(launched, sample_ids, world_size=1).results[0]
            for launched in (observe, observe_elsewhere)
        )
        check.judge(judge_all(first, second))
        run = check.launch(changes_state, sample_ids, *ONE_CALL, world_size=1)
        check.judge(judge_state(run.results[0]))


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
            ids = as_ids(sample_ids(num_samples, epoch, seed, rank, world_size))
            if isinstance(ids, str):
                return ids
            slices.append(ids)
        epochs.append(slices)
    return epochs


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
                    came=f"{shorten(slices[0])} for both",
                    where=f"epoch {epoch}, {num_samples} samples, rank 0",
                )
    return None
