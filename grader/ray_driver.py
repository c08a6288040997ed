"""The process that owns a real Ray: fits one trainer, says what came of it, leaves nothing behind.

Run by grader/ray_fit.py as: python -m grader.ray_driver DIRECTORY RESULT_FD
Reads from DIRECTORY the pickled make_trainer, its number of workers, and the step at which to kill
one of them, if one is to be killed. When its stdin closes, its parent is gone or wants no
more of it: then it ends every process that Ray has started, and removes DIRECTORY.
"""

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

from grader import ray_kill
from sandbox.ranks.process import adopt_orphans, end_descendants

STEPS = "steps"  # the folder in which workers record them
OBJECT_STORE_BYTES = 80_000_000  # Ray's least; the toy sends nothing through it


def main(directory: Path, result_fd: int) -> None:
    """Fit, and write the result as JSON to `result_fd`."""
    adopt_orphans()  # Ray's processes do not die with the one that started them
    threading.Thread(target=_end_with_parent, args=(directory,), daemon=True).start()
    import ray

    call = cloudpickle.loads((directory / "call.pkl").read_bytes())
    make_trainer, num_workers, kill_at = call
    trainer = _make(make_trainer, num_workers, str(directory / "storage"))
    if kill_at is not None:
        steps = directory / STEPS
        steps.mkdir()
        trainer.train_loop_per_worker = ray_kill.record_steps(
            trainer.train_loop_per_worker, steps, kill_at
        )
        ray_kill.start_killer(steps)
    ray.init(
        address="local",
        num_cpus=num_workers if isinstance(num_workers, int) else max(num_workers),
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        _temp_dir=str(directory / "ray"),
    )
    try:
        result = trainer.fit()
    finally:
        ray.shutdown()
        end_descendants()
    with os.fdopen(result_fd, "w") as file:
        json.dump(_plain(result), file, default=str)


def _make(make_trainer: Callable[[Any, str], Any], num_workers: Any, path: str) -> Any:
    """Return the trainer, or say what came instead."""
    from ray.train.torch import TorchTrainer

    from grader.ray_made import refusing_fit

    with refusing_fit():
        trainer = make_trainer(num_workers, path)
    if not isinstance(trainer, TorchTrainer):
        raise TypeError(f"make_trainer returned a {type(trainer).__name__}, no TorchTrainer")
    return trainer


def _plain(result: Any) -> dict[str, Any]:
    checkpoint = result.checkpoint
    return {"metrics": result.metrics, "checkpoint": checkpoint.path if checkpoint else None}


def _end_with_parent(directory: Path) -> None:
    while os.read(sys.stdin.fileno(), 1 << 10):
        pass
    end_descendants()
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
