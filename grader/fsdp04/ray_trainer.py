"""Step 10: an elastic TorchTrainer, which outlives failures, bounded in what it keeps."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grader import trainer_settings
from grader.fsdp04.exercise import Check
from grader.fsdp04.ray_reports import judge_stored
from grader.mistakes import Mistake
from grader.trainer_settings import Settings, plain_path, settings_of
from grader.verdict import Failure

MakeTrainer = Callable[[tuple[int, int], str], Any]  # a TorchTrainer: not imported in the kernel

NUM_WORKERS = ((2, 4), (1, 3))
MAX_FAILURES = 3
WORLD_SIZE = 2
# The notebook's own, which a trainer is to train with: a test holds the two alike.
CONFIG: dict[str, Any] = {
    "model": {"vocab_size": 62, "num_blocks": 2},
    "lr": 1e-2,
    "warmup_steps": 6,
    "num_samples": 96,
    "seq_len": 12,
    "global_batch_size": 12,
    "mask_rate": 1 / 8,
    "mask_token": 61,
    "num_steps": 16,
    "save_every": 3,
    "num_kept": 2,
    "seed": 0,
}
MISTAKE_OF_SETTING = {
    "kind": Mistake.NOT_A_TRAINER,
    "num_workers": Mistake.NOT_ELASTIC,
    "use_gpu": Mistake.WRONG_BACKEND,
    "backend": Mistake.WRONG_BACKEND,
    "storage_path": Mistake.STORAGE_PATH_UNUSED,
    "config": Mistake.WRONG_LOOP_CONFIG,
    "max_failures": Mistake.MAX_FAILURES_0,
    "num_to_keep": Mistake.CHECKPOINTS_PILE_UP,
}


def check_make_trainer(make_trainer: MakeTrainer) -> None:
    """Judge `make_trainer(num_workers, storage_path) -> TorchTrainer`, and run its loop."""
    proof = (
        f"elastic, on CPUs over gloo; survives {MAX_FAILURES} failures, keeps "
        f"{CONFIG['num_kept']} checkpoints; its loop trains to the\n  end with CONFIG and reports "
        "every save"
    )
    with (
        Check("make_trainer", proof, make_trainer) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        run = check.launch(
            observe_settings, make_trainer, path, world_size=1, init_process_group=False
        )
        check.judge(judge_settings(run.results[0], path))
        check.launch(
            observe_run,
            make_trainer,
            path,
            world_size=WORLD_SIZE,
            case=f"the trainer's loop on {WORLD_SIZE} ranks",
            init_process_group=False,
        )
        check.judge(judge_stored(Path(path), WORLD_SIZE, CONFIG))


def observe_settings(make_trainer: MakeTrainer, path: str) -> list[Settings]:
    """Make a trainer for each range of workers; return its settings."""
    from grader.ray_made import refusing_fit

    with refusing_fit():
        return [settings_of(make_trainer(number, path), CONFIG) for number in NUM_WORKERS]


def observe_run(make_trainer: MakeTrainer, path: str) -> None:
    """Run the trainer's own loop with its own config; the reports and checkpoints tell of it."""
    from grader.ray_local import fit_on_ranks

    trainer = make_trainer((WORLD_SIZE, WORLD_SIZE), path)
    fit_on_ranks(trainer.train_loop_per_worker, trainer.train_loop_config, path)


def judge_settings(seen: Sequence[Settings], path: str) -> Failure | None:
    """Judge the settings of each trainer."""
    for num_workers, settings in zip(NUM_WORKERS, seen, strict=True):
        expected = Settings(
            kind="TorchTrainer",
            num_workers=num_workers,
            use_gpu=False,
            backend="gloo",
            storage_path=plain_path(path),
            config="CONFIG",
            max_failures=MAX_FAILURES,
            num_to_keep=CONFIG["num_kept"],
        )
        if failure := trainer_settings.judge_settings(settings, expected, MISTAKE_OF_SETTING):
            return failure
    return None
