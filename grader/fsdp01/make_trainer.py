"""Step 8: a TorchTrainer with the right settings, whose own loop trains on warm ranks."""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import explain, storage
from grader.check import Check
from grader.fsdp01 import judge_loop
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.errors import CollectiveMismatchError, DeadlockError

MakeTrainer = Callable[[int, str], Any]  # a TorchTrainer: Ray is not imported in the kernel
NUM_WORKERS = (4, 2, 3)
WORLD_SIZE = 4


@dataclass(frozen=True)
class Settings:
    """What a trainer was made with."""

    kind: str
    num_workers: object = None
    use_gpu: object = None
    backend: object = None
    storage_path: object = None


def check_make_trainer(make_trainer: MakeTrainer) -> None:
    """Judge `make_trainer(num_workers, storage_path) -> TorchTrainer`, and run its loop."""
    proof = (
        f"the settings are right, and the trainer's own loop and config train on {WORLD_SIZE} ranks"
    )
    with (
        Check("make_trainer", proof, make_trainer) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        run = check.launch(
            observe_settings, make_trainer, path, world_size=1, init_process_group=False
        )
        check.judge(judge_settings(run.results[0], path))
        check.judge(_run_and_judge(check, make_trainer, path))


def observe_settings(make_trainer: MakeTrainer, path: str) -> list[Settings]:
    """Make a trainer for each number of workers; return its settings."""
    return [_settings_of(make_trainer(num_workers, path)) for num_workers in NUM_WORKERS]


def _settings_of(trainer: object) -> Settings:
    from ray.train.torch import TorchConfig, TorchTrainer

    kind = type(trainer).__name__
    if not isinstance(trainer, TorchTrainer):
        return Settings(kind)
    made: Any = trainer  # what it was made with, Ray declares nowhere
    scaling, backend = made.scaling_config, made.backend_config
    return Settings(
        kind="TorchTrainer",
        num_workers=scaling.num_workers,
        use_gpu=bool(scaling.use_gpu),
        backend=backend.backend if isinstance(backend, TorchConfig) else type(backend).__name__,
        storage_path=os.path.normpath(str(made.run_config.storage_path)),
    )


def judge_settings(seen: Sequence[Settings], path: str) -> Failure | None:
    """Judge the settings of each trainer."""
    for num_workers, settings in zip(NUM_WORKERS, seen, strict=True):
        expected = Settings("TorchTrainer", num_workers, False, "gloo", os.path.normpath(path))
        for name, mistake in MISTAKE_OF_SETTING.items():
            wanted, came = getattr(expected, name), getattr(settings, name)
            if wanted != came:
                return Failure(
                    mistake=mistake,
                    expected=f"{name} {wanted!r}",
                    came=f"{came!r}",
                    where=f"make_trainer({num_workers}, storage_path)",
                )
    return None


MISTAKE_OF_SETTING = {
    "kind": Mistake.NOT_A_TRAINER,
    "num_workers": Mistake.WRONG_NUM_WORKERS,
    "use_gpu": Mistake.WRONG_BACKEND,
    "backend": Mistake.WRONG_BACKEND,
    "storage_path": Mistake.STORAGE_PATH_UNUSED,
}


def observe_run(make_trainer: MakeTrainer, path: str) -> tuple[int, object]:
    """Run the trainer's own loop; return this rank's optimizer steps, and its num_epochs."""
    from grader.fsdp01.loop_watch import LoopWatch
    from grader.ray_local import fit_on_ranks

    trainer = make_trainer(WORLD_SIZE, path)
    watch = LoopWatch()
    config = trainer.train_loop_config
    num_epochs = config.get("num_epochs") if isinstance(config, dict) else None
    fit_on_ranks(trainer.train_loop_per_worker, config, path)
    return len(watch.steps), num_epochs


def _run_and_judge(check: Check, make_trainer: MakeTrainer, path: str) -> Failure | None:
    try:
        run = check.launch(
            observe_run,
            make_trainer,
            path,
            world_size=WORLD_SIZE,
            case=f"the trainer's loop on {WORLD_SIZE} ranks",
            init_process_group=False,
        )
    except (DeadlockError, CollectiveMismatchError) as error:
        counts = [len(reports) for reports in storage.read_reports(Path(path), WORLD_SIZE)]
        if len(set(counts)) > 1:
            return judge_loop.unequal_reports(counts, explain.where_of(error))
        raise
    reports = storage.read_reports(Path(path), WORLD_SIZE)
    return judge_run(run.results, reports, len(storage.checkpoints(Path(path))))


def judge_run(
    seen: Sequence[tuple[int, object]],
    reports: Sequence[Sequence[storage.Report]],
    num_checkpoints: int,
) -> Failure | None:
    """Judge that every rank trained and reported, and that a checkpoint came of it.

    `seen` is what `observe_run` returned on each rank.
    """
    num_steps = [steps for steps, _ in seen]
    num_epochs = seen[0][1]
    if min(num_steps) == 0:
        return Failure(
            mistake=Mistake.NO_STEP,
            expected="optimizer steps on every rank",
            came=f"{num_steps}",
        )
    counts = [len(entry) for entry in reports]
    if len(set(counts)) > 1 or min(counts) == 0:
        return judge_loop.unequal_reports(counts, "")
    if num_checkpoints == 0:
        return Failure(mistake=Mistake.NO_CHECKPOINT, expected="at least 1", came="0")
    if isinstance(num_epochs, int):  # else the loop gets it from elsewhere
        return judge_loop.judge_report_count(counts, num_epochs)
    return None
