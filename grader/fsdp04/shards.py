"""Step 3: each rank saves its shards, and any number of ranks goes on from them."""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

import sandbox
from grader import explain
from grader.cases import FROZEN, SHALLOW, TIED, Case
from grader.fsdp04.damage import files_of
from grader.fsdp04.exercise import Check, LoadShards, SaveShards
from grader.fsdp04.judge_state import judge_state
from grader.fsdp04.state import Snapshot, new_state, take_snapshot, take_steps, truth_of
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.errors import CollectiveMismatchError, DeadlockError, RankError
from sandbox.failure import count_ranks, name_ranks
from sandbox.ledger import Ledger
from sandbox.run import Run

NUM_SAVED_STEPS, NUM_MORE_STEPS = 2, 2
OTHER_LEARNING_RATE = 3e-2  # of the state to load into: the saved one must replace it
# So many rows that the weights are more bytes than all that dcp's ranks tell each other.
WIDE = {**SHALLOW, "vocab_size": 1009}
# Saved by the case's ranks, loaded by as many and by other numbers of them.
CASES = (
    (Case(world_size=4, model=WIDE, frozen=FROZEN, data_seed=1), (4, 2, 3, 6, 1)),
    (Case(world_size=3, model=TIED, data_seed=2), (2,)),
)


@dataclass(frozen=True)
class Loaded:
    """What one rank has after loading and after each further step; digests of its random state."""

    snapshots: list[Snapshot]
    rng_before: str
    rng_after: str


def check_shards(save_shards: SaveShards, load_shards: LoadShards) -> None:
    """Judge the pair: what is saved on 4 or 3 ranks goes on as if uninterrupted on 1 to 6."""
    proof = (
        "saved on 4, loaded on 4, 2, 3, 6 and 1 ranks; saved on 3, loaded on 2: weights, moments,\n"
        "  learning rate and the next two steps equal the uninterrupted run to 1e-12"
    )
    with (
        Check("shards", proof, save_shards, load_shards) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        for number, (case, world_sizes) in enumerate(CASES):
            directory = Path(path, f"step-{number}")
            directory.mkdir()
            saving = _save(check, save_shards, directory, case)
            saved_rng = saving.results
            check.judge(judge_place(Path(path), directory))
            truths = truth_of(case, NUM_SAVED_STEPS + NUM_MORE_STEPS)[NUM_SAVED_STEPS:]
            if case.model == WIDE:
                check.judge(judge_spread(saving.ledger, directory, truths[0].weights))
            for world_size in world_sizes:
                failure = _load(check, load_shards, directory, case, world_size, truths, saved_rng)
                check.judge(failure)


def _save(check: Check, save: SaveShards, directory: Path, case: Case) -> Run:
    """Save on the case's ranks; they return their random states. Tell a state that some collect."""
    text = f"saving on {case.text}"
    try:
        saved = (observe_save, save, str(directory), case)
        return check.launch(*saved, world_size=case.world_size, case=text)
    except (DeadlockError, CollectiveMismatchError) as error:
        if explain.are_some_idle(error, case.world_size):
            failure = explain.failure_of(error)
            check.judge(replace(failure, mistake=Mistake.RANK0_ONLY_STATE_DICT))
        raise


def _load(
    check: Check,
    load: LoadShards,
    directory: Path,
    case: Case,
    world_size: int,
    truths: Sequence,
    saved_rng: Sequence[str],
) -> Failure | None:
    """Judge the load on `world_size` ranks; where it fails, the files may be why."""
    elsewhere = replace(case, world_size=world_size)
    text = f"saved on {count_ranks(case.world_size)}, loaded on {elsewhere.text}"
    loaded = (observe_load, load, str(directory), case)
    is_elsewhere = world_size != case.world_size
    try:
        ranks = check.launch(*loaded, world_size=world_size, case=text).results
        states = list(zip(*(rank.snapshots for rank in ranks), strict=True))
        failure = judge_state(states, truths, NUM_SAVED_STEPS)
    except RankError as error:
        if not is_elsewhere or explain.stub_of(error) is not None:
            raise
        failure = explain.failure_of(error)
        if "Missing key in checkpoint" in error.exc_message:
            failure = replace(failure, mistake=Mistake.RANK_ENTRY_MISSING)
    if failure is not None and is_elsewhere and not any(directory.rglob(".metadata")):
        return replace(failure, mistake=Mistake.LOCAL_SHARD_TORCH_SAVE)
    return failure or judge_rng(ranks, None if is_elsewhere else saved_rng)


# -- observe --------------------------------------------------------------------------------------


def observe_save(save: SaveShards, directory: str, case: Case) -> str:
    """Train some steps, then save; return a digest of this rank's random state at that time."""
    state = new_state(case)
    take_steps(state, case, NUM_SAVED_STEPS)
    torch.manual_seed(1_000 + dist.get_rank())
    digest = _rng_digest()
    sandbox.mark("save")
    save(directory, state)
    return digest


def observe_load(load: LoadShards, directory: str, case: Case) -> Loaded:
    """Load into other weights, another lr, a random state of each rank's own; take more steps."""
    state = new_state(case, seed=99, lr=OTHER_LEARNING_RATE)
    torch.manual_seed(5_000 + dist.get_rank())
    before = _rng_digest()
    load(directory, state)
    after = _rng_digest()
    snapshots = [take_snapshot(state)]
    state.step = NUM_SAVED_STEPS  # where it was not, that is told; the steps are those to take
    for _ in range(NUM_MORE_STEPS):
        take_steps(state, case, 1)
        snapshots.append(take_snapshot(state))
    return Loaded(snapshots, before, after)


def _rng_digest() -> str:
    return hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()


# -- judge ----------------------------------------------------------------------------------------


def judge_place(path: Path, directory: Path) -> Failure | None:
    """Judge that nothing was written beside the directory."""
    others = [entry for entry in path.iterdir() if not entry.name.startswith("step-")]
    if not others:
        return None
    expected = f"files in {directory.name} alone"
    return Failure(mistake=Mistake.SAVED_ELSEWHERE, expected=expected, came=f"{others[0].name}")


def judge_spread(ledger: Ledger, directory: Path, weights: Mapping[str, Tensor]) -> Failure | None:
    """Judge that no rank was sent the others' weights to save, and that no file holds most of all.

    Objects count too: numbers can travel in them.
    """
    expected = "each rank writes the shards that it has, to files of its own"
    size = sum(weight.nbytes for weight in weights.values())
    if (num_bytes := sum(event.nbytes for event in ledger.phases(0)[-1])) >= size:
        came = f"collectives of {num_bytes:,} bytes on rank 0, and all weights are {size:,}"
        return Failure(mistake=Mistake.STATE_GATHERED, expected=expected, came=came)
    sizes = {path.name: path.stat().st_size for path in files_of(directory)}
    largest = max(sizes, key=sizes.__getitem__)
    if 2 * sizes[largest] > sum(sizes.values()):
        came = f"{largest} has {sizes[largest]:,} of {sum(sizes.values()):,} bytes"
        return Failure(mistake=Mistake.STATE_GATHERED, expected=expected, came=came)
    return None


def judge_rng(ranks: Sequence[Loaded], saved: Sequence[str] | None) -> Failure | None:
    """Judge the random states: those saved (None where others saved), and each rank its own."""
    after = [rank.rng_after for rank in ranks]
    for rank, digest in enumerate(after):
        twins = [other for other, twin in enumerate(after) if twin == digest]
        if len(twins) > 1:
            return Failure(
                mistake=Mistake.RNG_NOT_RESHARDED,
                expected="a random state of its own on every rank",
                came=f"{name_ranks(twins)} have the same",
            )
        if saved is not None and digest != saved[rank]:
            is_untouched = digest == ranks[rank].rng_before
            return Failure(
                mistake=Mistake.RNG_NOT_RESTORED,
                expected="the random state that this rank had when it saved",
                came="the one from before loading" if is_untouched else "another one",
                where=f"rank {rank}",
            )
    return None
