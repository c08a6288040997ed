"""Step 4: every rank its own slice of the data, the slices together the epoch exactly once."""

from collections import Counter
from collections.abc import Callable, Sequence

from grader.check import Check
from grader.mistakes import Mistake
from grader.verdict import Failure

SampleIds = Callable[[int, int, int, int, int], Sequence[int]]
Slices = list[list[int]]  # one list of sample ids per rank

NUM_EPOCHS = 3
CASES = ((12, 1), (24, 2), (36, 3), (48, 4))  # (num_samples, world_size)
SEEDS = (0, 5)
MAX_SHOWN = 6


def check_sample_ids(sample_ids: SampleIds) -> None:
    """Judge `sample_ids(num_samples, epoch, seed, rank, world_size) -> list of ids`."""
    proof = "each epoch exactly once, in equal slices, reshuffled, on 1, 2, 3 and 4 ranks"
    with Check("sample_ids", proof, sample_ids) as check:
        first, second = (
            check.launch(observe, sample_ids, world_size=1).results[0] for _ in range(2)
        )
        check.judge(judge_all(first, second))


def observe(sample_ids: SampleIds) -> list[list[Slices] | str]:
    """Return the slices of every epoch, for each case and seed; a text where it is no list."""
    return [
        _slices_of_epochs(sample_ids, num_samples, seed, world_size)
        for num_samples, world_size in CASES
        for seed in SEEDS
    ]


def _slices_of_epochs(
    sample_ids: SampleIds, num_samples: int, seed: int, world_size: int
) -> list[Slices] | str:
    epochs = []
    for epoch in range(NUM_EPOCHS):
        slices = []
        for rank in range(world_size):
            answer = sample_ids(num_samples, epoch, seed, rank, world_size)
            try:
                slices.append([int(sample_id) for sample_id in answer])
            except (TypeError, ValueError):
                return type(answer).__name__
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
    return None


def judge_slices(epochs: Sequence[Slices], num_samples: int) -> Failure | None:
    """Judge the slices of consecutive epochs: exactly once, equal in number, reshuffled."""
    for epoch, slices in enumerate(epochs):
        failure = judge_epoch(slices, num_samples)
        if failure is not None:
            where = f"epoch {epoch}, {num_samples} samples on {len(slices)} ranks"
            return Failure(
                mistake=failure.mistake, expected=failure.expected, came=failure.came, where=where
            )
    for rank, own in enumerate(zip(*epochs, strict=True)):
        if _is_repeated(own, num_ranks=len(epochs[0])):
            return Failure(
                mistake=Mistake.NO_SET_EPOCH,
                expected="other samples for a rank in another epoch",
                came=f"{_shorten(own[0])} in epoch 0, {_shorten(own[1])} in epoch 1",
                where=f"rank {rank} of {len(epochs[0])}",
            )
    return None


def _is_repeated(slices: Sequence[list[int]], num_ranks: int) -> bool:
    """Whether one rank sees the same samples in every epoch (alone: in the same order)."""
    if num_ranks == 1:
        return all(entry == slices[0] for entry in slices)
    return all(set(entry) == set(slices[0]) for entry in slices)


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
