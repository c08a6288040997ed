"""Step 8: a TorchTrainer with the right settings, whose own loop and config train."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from grader import explain, trainer_settings
from grader.fsdp01 import judge_loop
from grader.fsdp01.exercise import Check
from grader.fsdp01.loop_run import LoopRun
from grader.fsdp01.loop_watch import LoopStep, LoopWatch
from grader.fsdp01.train_loop import failure_of_hang
from grader.mistakes import Mistake
from grader.trainer_settings import Settings, plain_path, settings_of
from grader.verdict import Failure
from sandbox import toys
from sandbox.errors import CollectiveMismatchError, DeadlockError, RankError

MakeTrainer = Callable[[int, str], Any]  # a TorchTrainer: Ray is not imported in the kernel
NUM_WORKERS = (4, 2, 3)
WORLD_SIZE = 4
# The notebook's own, which a trainer is to train with: a test holds the two alike.
CONFIG: dict[str, Any] = {
    "model": {"vocab_size": 61, "num_blocks": 3},
    "lr": 1e-2,
    "max_norm": 1.0,
    "num_samples": 48,
    "seq_len": 12,
    "global_batch_size": 12,
    "num_epochs": 2,
    "seed": 0,
}


def check_make_trainer(make_trainer: MakeTrainer) -> None:
    """Judge `make_trainer(num_workers, storage_path) -> TorchTrainer`, and run its loop."""
    proof = (
        "the settings are right, and the trainer's own loop and config train on "
        f"{WORLD_SIZE} ranks\n  as one process does with CONFIG, to 1e-12"
    )
    with (
        Check("make_trainer", proof, make_trainer) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        run = check.launch(
            observe_settings, make_trainer, path, world_size=1, init_process_group=False
        )
        settings = run.results[0]
        check.judge(judge_settings(settings, path))
        check.judge(_run_and_judge(check, make_trainer, path, settings[0].config is None))


def observe_settings(make_trainer: MakeTrainer, path: str) -> list[Settings]:
    """Make a trainer for each number of workers; return its settings."""
    from grader.ray_made import refusing_fit

    with refusing_fit():
        return [settings_of(make_trainer(number, path), CONFIG) for number in NUM_WORKERS]


def judge_settings(seen: Sequence[Settings], path: str) -> Failure | None:
    """Judge the settings of each trainer."""
    for num_workers, settings in zip(NUM_WORKERS, seen, strict=True):
        expected = Settings("TorchTrainer", num_workers, False, "gloo", plain_path(path), "CONFIG")
        if failure := trainer_settings.judge_settings(settings, expected, MISTAKE_OF_SETTING):
            return failure
    return None


MISTAKE_OF_SETTING = {
    "kind": Mistake.NOT_A_TRAINER,
    "num_workers": Mistake.WRONG_NUM_WORKERS,
    "use_gpu": Mistake.WRONG_BACKEND,
    "backend": Mistake.WRONG_BACKEND,
    "storage_path": Mistake.STORAGE_PATH_UNUSED,
    "config": Mistake.WRONG_LOOP_CONFIG,
}


def observe_run(make_trainer: MakeTrainer, path: str) -> list[LoopStep]:
    """Run the trainer's own loop; return this rank's optimizer steps.

    CONFIG names no dtype: here the toy's own is float64, in which the run is judged.
    """
    from grader.ray_local import fit_on_ranks

    defaults: Any = toys.Transformer.__init__.__kwdefaults__
    defaults["dtype"] = torch.float64
    trainer = make_trainer(WORLD_SIZE, path)
    watch = LoopWatch()
    fit_on_ranks(trainer.train_loop_per_worker, trainer.train_loop_config, path)
    return watch.steps


def _run_and_judge(
    check: Check, make_trainer: MakeTrainer, path: str, is_without_config: bool
) -> Failure | None:
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
        check.judge(failure_of_hang(error, make_trainer, path, WORLD_SIZE))
        raise
    except RankError as error:
        if is_without_config and explain.stub_of(error) is None:
            failure = explain.failure_of(error)
            return replace(failure, mistake=Mistake.NO_LOOP_CONFIG)
        raise
    loop_run = LoopRun.stored_at(path, 0, CONFIG["num_epochs"], run.results)
    config = {**CONFIG, "model": {**CONFIG["model"], "dtype": torch.float64}}
    return judge_loop.judge_run([loop_run], config)
