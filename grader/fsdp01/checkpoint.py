"""Step 6: a checkpoint that holds what is needed to go on, on any number of ranks."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from grader import explain, storage
from grader.check import Check
from grader.fsdp01.cases import (
    FROZEN,
    LEARNING_RATE,
    SHALLOW,
    TIED,
    Case,
    count_ranks,
    new_sharded,
)
from grader.fsdp01.truth import StepTruth, train
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.shards import Shard, shards_of
from grader.verdict import Failure
from sandbox import toys
from sandbox.errors import CollectiveMismatchError, DeadlockError, RankError
from sandbox.ledger import Ledger

Save = Callable[[str, nn.Module, torch.optim.Optimizer, int], None]
Load = Callable[[str, nn.Module, torch.optim.Optimizer], int]

NUM_SAVED_STEPS = 2
BATCH_SIZE = 12
OTHER_LEARNING_RATE = 3e-2  # of the optimizer to load into: the saved one must replace it
# Saved by this case, then loaded by as many ranks, then by another number of them.
CASES = (
    (Case(world_size=2, model=TIED, data_seed=1), 3),
    (Case(world_size=4, model=SHALLOW, frozen=FROZEN, data_seed=2), 1),
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
    with Check("checkpoint", proof, *answers) as check:
        for number, (case, other_world_size) in enumerate(CASES):
            with tempfile.TemporaryDirectory(prefix="shardlab-") as directory:
                _save(check, save_checkpoint, directory, case, number + 1)
                truth = truth_of(case)
                for world_size in (case.world_size, other_world_size):
                    loaded = (load_checkpoint, directory, case)
                    check.judge(_load(check, loaded, world_size, truth, number + 1))


# -- observe --------------------------------------------------------------------------------------


def observe_save(save: Save, directory: str, case: Case, next_epoch: int) -> None:
    """Train some steps, then save."""
    model, optimizer = new_sharded(case)
    for step in range(NUM_SAVED_STEPS):
        _take_step(model, optimizer, case, step)
    sandbox.mark("save")
    save(directory, model, optimizer, next_epoch)


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
    return Observation(storage.plain(next_epoch), loaded, stepped, lr)


def _take_step(model: nn.Module, optimizer: torch.optim.Optimizer, case: Case, step: int) -> None:
    """Train on this rank's share of a batch that is the same for every number of ranks."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    tokens = _batch(case, step).chunk(world_size)[rank].to(sandbox.device())
    toys.next_token_loss(model(tokens), tokens).backward()
    optimizer.step()
    optimizer.zero_grad()


def _batch(case: Case, step: int) -> Tensor:
    sample_ids = range(step * BATCH_SIZE, (step + 1) * BATCH_SIZE)
    vocab_size = case.model.get("vocab_size", 61)
    return toys.token_samples(sample_ids, vocab_size=vocab_size, seed=case.data_seed)


# -- judge ----------------------------------------------------------------------------------------


def truth_of(case: Case) -> list[StepTruth]:
    """Return the uninterrupted run: the steps before the save, and the one after it."""
    batches = [_batch(case, step) for step in range(NUM_SAVED_STEPS + 1)]
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
            return Failure(
                mistake=Mistake.RESUME_FROM_EPOCH_0,
                expected=f"load_checkpoint returns {next_epoch}, as saved",
                came=str(observation.next_epoch),
                where=f"rank {rank}",
            )
    return None


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
        check.launch(*saved, world_size=case.world_size, case=f"saving on {case.text}")
    except (DeadlockError, CollectiveMismatchError) as error:
        ledger = error.run.ledger if error.run else Ledger()
        since_mark = [ledger.phases(rank)[1:] for rank in range(case.world_size)]
        idle = [rank for rank, events in enumerate(since_mark) if not any(events)]
        if 0 < len(idle) < case.world_size:
            failure = explain.failure_of(error)
            check.judge(replace(failure, mistake=Mistake.RANK0_ONLY_STATE_DICT))
        raise
