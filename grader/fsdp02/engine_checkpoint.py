"""Step 11: DeepSpeed's checkpoint, saved and loaded by all ranks."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

import sandbox
from grader import explain
from grader.cases import Case
from grader.fsdp02.engines import (
    CASES,
    judge_weights,
    new_engine,
    train_step,
    truths_of,
)
from grader.fsdp02.exercise import Check
from grader.mistakes import Mistake
from grader.plain import as_plain
from grader.shards import gathered
from grader.truth import StepTruth
from grader.verdict import Failure
from sandbox.errors import CollectiveMismatchError, DeadlockError

Save = Callable[[Any, str, int], None]
Load = Callable[[Any, str], int]

NUM_SAVED_STEPS = 1
NEXT_STEPS = {1: 5, 3: 7}  # what is to be saved as next_step, by stage


@dataclass(frozen=True)
class Seen:
    """What one rank has after loading, and after one more step."""

    next_step: Any
    loaded: dict[str, Tensor]
    stepped: dict[str, Tensor]


def check_checkpoint(save_checkpoint: Save, load_checkpoint: Load) -> None:
    """Judge the pair at stages 1 and 3: what is loaded goes on as if never interrupted."""
    proof = "weights and the next step after loading equal the uninterrupted run: ZeRO-1 and ZeRO-3"
    with (
        Check("checkpoint", proof, save_checkpoint, load_checkpoint) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as directory,
    ):
        for stage, case in (CASES[0], CASES[2]):
            path = f"{directory}/{stage}"
            _save(check, save_checkpoint, path, stage, case)
        for stage, case in (CASES[0], CASES[2]):
            path = f"{directory}/{stage}"
            run = check.launch(
                observe_load,
                load_checkpoint,
                path,
                stage,
                case,
                world_size=case.world_size,
                case=f"loading, ZeRO-{stage}, {case.text}",
            )
            truths = truths_of(case, NUM_SAVED_STEPS + 1)
            check.judge(judge(run.results, truths, NEXT_STEPS[stage]))


def _save(check: Check, save: Save, path: str, stage: int, case: Case) -> None:
    """Save on the case's ranks; tell a save that only some ranks make from other hangs."""
    try:
        text = f"saving, ZeRO-{stage}, {case.text}"
        world_size = case.world_size
        check.launch(observe_save, save, path, stage, case, world_size=world_size, case=text)
    except (DeadlockError, CollectiveMismatchError) as error:
        if explain.are_some_idle(error, case.world_size):
            failure = explain.failure_of(error)
            check.judge(replace(failure, mistake=Mistake.RANK0_ONLY_DS_SAVE))
        raise


def observe_save(save: Save, path: str, stage: int, case: Case) -> None:
    """Train a step, then save."""
    engine = new_engine(case.new_model(), stage)
    train_step(engine, case, 0)
    sandbox.mark("save")
    save(engine, path, NEXT_STEPS[stage])


def observe_load(load: Load, path: str, stage: int, case: Case) -> Seen:
    """Load into other weights and fresh moments, then take the next step."""
    model = case.new_model(seed=99)
    engine = new_engine(model, stage)
    next_step = load(engine, path)
    loaded = gathered(model)
    train_step(engine, case, NUM_SAVED_STEPS)
    return Seen(as_plain(next_step), loaded, gathered(model))


def judge(seen: Sequence[Seen], truths: Sequence[StepTruth], next_step: int) -> Failure | None:
    """Judge what was loaded, then the step that needs the optimizer's state, then next_step."""
    *_, saved, stepped = truths
    for mistake, weights, truth, when in (
        (Mistake.WEIGHTS_NOT_RESTORED, [s.loaded for s in seen], saved, "after loading"),
        (Mistake.OPTIM_NOT_RESTORED, [s.stepped for s in seen], stepped, "after the next step"),
    ):
        failure = judge_weights(
            weights,
            truth.weights,
            mistake,
            expected=f"{when}, weight {{:.6g}}",
            next_step="engine.load_checkpoint(directory), on every rank, with its defaults",
        )
        if failure is not None:
            return failure
    for rank, observation in enumerate(seen):
        if observation.next_step != next_step:
            return Failure(
                mistake=Mistake.RESUME_FROM_EPOCH_0,
                expected=f"load_checkpoint returns {next_step}, as saved",
                came=f"{observation.next_step}",
                where=f"rank {rank}",
                next_step='save client_state={"next_step": …}; load_checkpoint returns it second',
            )
    return None
