"""Step 6: a checkpoint that holds what is needed to go on, on any number of ranks."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

import sandbox
from grader import explain
from grader.cases import FROZEN, LEARNING_RATE, SHALLOW, TIED, Case, new_sharded, share_of
from grader.fsdp01.exercise import Check
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.plain import as_plain
from grader.shards import Shard, shards_of
from grader.truth import StepTruth, train
from grader.verdict import Failure
from sandbox import toys
from sandbox.errors import CollectiveMismatchError, DeadlockError, RankError
from sandbox.failure import count_ranks

Save = Callable[[str, nn.Module, torch.optim.Optimizer, int], None]
Load = Callable[[str, nn.Module, torch.optim.Optimizer], int]

NUM_SAVED_STEPS = 2
OTHER_LEARNING_RATE = 3e-2  # of the optimizer to load into: the saved one must replace it
# Saved by this case, with this next_epoch; loaded by as many ranks, then by another number of them.
CASES = (
    (Case(world_size=2, model=TIED, data_seed=1), 4, 3),
    (Case(world_size=4, model=SHALLOW, frozen=FROZEN, data_seed=2), 7, 1),
)


@dataclass(frozen=True)
class Observation:
    """What one rank has after loading, and after one more step."""

    next_epoch: object
    loaded: dict[str, Shard]
    stepped: dict[str, Shard]
    lr: float


def check_checkpoint(save_checkpoint: Save, load_checkpoint: Load) -> None:
    """Judge the pair: what is saved on 2 or 4 ranks goes on as if uninterrupted on 1 to 4."""
    proof = (
        "after loading, on as many ranks or another number, weights and the next step equal the\n"
        "  uninterrupted run to 1e-12"
    )
    answers = (save_checkpoint, load_checkpoint)
    with (
        Check("checkpoint", proof, *answers) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        # All are saved before any is loaded: what lies elsewhere is the last one's by then.
        for case, next_epoch, _ in CASES:
            directory = Path(path, str(next_epoch))
            directory.mkdir()
            _save(check, save_checkpoint, str(directory), case, next_epoch)
        for case, next_epoch, other_world_size in CASES:
            truth = truth_of(case)
            for world_size in (case.world_size, other_world_size):
                loaded = (load_checkpoint, str(Path(path, str(next_epoch))), case)
                check.judge(_load(check, loaded, world_size, truth, next_epoch))


# -- observe --------------------------------------------------------------------------------------


def observe_save(save: Save, directory: str, case: Case, next_epoch: int) -> int:
    """Train some steps, then save; return when that was done, in nanoseconds since the epoch."""
    model, optimizer = new_sharded(case)
    for step in range(NUM_SAVED_STEPS):
        _take_step(model, optimizer, case, step)
    sandbox.mark("save")
    save(directory, model, optimizer, next_epoch)
    return time.time_ns()


def observe_load(load: Load, directory: str, case: Case) -> Observation:
    """Load into other weights and a fresh optimizer of another lr; then take the next step."""
    model, optimizer = new_sharded(case, seed=99, lr=OTHER_LEARNING_RATE)
    next_epoch = load(directory, model, optimizer)
    loaded = shards_of(model.named_parameters())
    lr = float(optimizer.param_groups[0]["lr"])
    _take_step(model, optimizer, case, NUM_SAVED_STEPS)
    if isinstance(next_epoch, Tensor):
        next_epoch = next_epoch.item()
    stepped = shards_of(model.named_parameters())
    plain = next_epoch if isinstance(next_epoch, str) else as_plain(next_epoch)
    return Observation(plain, loaded, stepped, lr)


def _take_step(model: nn.Module, optimizer: torch.optim.Optimizer, case: Case, step: int) -> None:
    """Train on this rank's share of a batch that is the same for every number of ranks."""
    tokens = share_of(case.fixed_batch(step))
    toys.next_token_loss(model(tokens), tokens).backward()
    optimizer.step()
    optimizer.zero_grad()


# -- judge ----------------------------------------------------------------------------------------


def truth_of(case: Case) -> list[StepTruth]:
    """Return the uninterrupted run: the steps before the save, and the one after it."""
    batches = [case.fixed_batch(step) for step in range(NUM_SAVED_STEPS + 1)]
    return train(case.new_model(), LEARNING_RATE, batches)


def judge(
    seen: Sequence[Observation], truth: Sequence[StepTruth], next_epoch: int
) -> Failure | None:
    """Judge what was loaded, then the step that needs the optimizer's state."""
    *_, saved, stepped = truth
    loaded = [observation.loaded for observation in seen]
    if difference := find_difference(loaded, saved.weights):
        return difference.as_failure(Mistake.WEIGHTS_NOT_RESTORED, "weight")
    for rank, observation in enumerate(seen):
        if observation.lr != LEARNING_RATE:
            return Failure(
                mistake=Mistake.OPTIM_NOT_RESTORED,
                expected=f"lr {LEARNING_RATE}, as saved",
                came=f"lr {observation.lr}, as before loading",
                where=f"rank {rank}",
            )
    after = [observation.stepped for observation in seen]
    if difference := find_difference(after, stepped.weights):
        return difference.as_failure(Mistake.OPTIM_NOT_RESTORED, "after the next step, weight")
    for rank, observation in enumerate(seen):
        if observation.next_epoch != next_epoch:
            came = observation.next_epoch
            is_of_another = came in [saved_epoch for _, saved_epoch, _ in CASES]
            return Failure(
                mistake=Mistake.SAVED_ELSEWHERE if is_of_another else Mistake.RESUME_FROM_EPOCH_0,
                expected=f"load_checkpoint returns {next_epoch}, as saved",
                came=f"{came}, of another checkpoint" if is_of_another else _describe(came),
                where=f"rank {rank}",
            )
    return None


def _describe(value: object) -> str:
    return f"{value!r}, a {type(value).__name__}" if isinstance(value, str) else str(value)


def judge_saved(directory: Path, returned_ns: int) -> Failure | None:
    """Judge that nothing was written after the last rank had returned."""
    late = [path.name for path in directory.rglob("*") if path.stat().st_mtime_ns > returned_ns]
    if not late:
        return None
    came = f"{min(late)} was written after that"
    return Failure(mistake=Mistake.SAVE_NOT_AWAITED, expected="all files written", came=came)


def _load(
    check: Check, loaded: tuple, world_size: int, truth: Sequence[StepTruth], next_epoch: int
) -> Failure | None:
    """Judge the load on `world_size` ranks; where it fails, the files may be why."""
    _, directory, case = loaded
    elsewhere = replace(case, world_size=world_size)
    text = f"saved on {count_ranks(case.world_size)}, loaded on {elsewhere.text}"
    try:
        run = check.launch(observe_load, *loaded, world_size=world_size, case=text)
        failure = judge(run.results, truth, next_epoch)
    except RankError as error:
        if explain.stub_of(error) is not None:
            raise
        failure = explain.failure_of(error)
    is_elsewhere = world_size != case.world_size
    if failure is not None and _holds_shards(Path(directory), is_elsewhere):
        return replace(failure, mistake=Mistake.LOCAL_SHARD_TORCH_SAVE)
    return failure


def _holds_shards(directory: Path, is_elsewhere: bool) -> bool:
    """Whether torch.save wrote shards: pickled DTensors, or what loads on as many ranks alone."""
    if any(directory.rglob(".metadata")):  # dcp's record of where each shard belongs
        return False
    files = [path for path in directory.rglob("*") if path.is_file()]
    return is_elsewhere or any(b"DTensor" in path.read_bytes() for path in files)


def _save(check: Check, save: Save, directory: str, case: Case, next_epoch: int) -> None:
    """Save on the case's ranks; tell a state that only some ranks collect from other hangs."""
    try:
        saved = (observe_save, save, directory, case, next_epoch)
        run = check.launch(*saved, world_size=case.world_size, case=f"saving on {case.text}")
        check.judge(judge_saved(Path(directory), max(run.results)))
    except (DeadlockError, CollectiveMismatchError) as error:
        if explain.are_some_idle(error, case.world_size):
            failure = explain.failure_of(error)
            check.judge(replace(failure, mistake=Mistake.RANK0_ONLY_STATE_DICT))
        raise
