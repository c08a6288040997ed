"""The process that owns a real Ray: fits one trainer, says what came of it, ends with its parent.

Run by grader/ray_fit.py as: python -m grader.ray_driver DIRECTORY RESULT_FD
Reads the pickled make_trainer from DIRECTORY; when its stdin closes, it and its Ray end.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import cloudpickle
import psutil

OBJECT_STORE_BYTES = 80_000_000  # Ray's least; the toy sends nothing through it


def main(directory: Path, result_fd: int) -> None:
    """Fit, and write the result as JSON to `result_fd`."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import ray

    make_trainer, num_workers = cloudpickle.loads((directory / "call.pkl").read_bytes())
    ray.init(
        address="local",
        num_cpus=num_workers,
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        _temp_dir=str(directory / "ray"),
    )
    try:
        result = make_trainer(num_workers, str(directory / "storage")).fit()
    finally:
        ray.shutdown()
    with os.fdopen(result_fd, "w") as file:
        json.dump(_plain(result), file)


def _plain(result: Any) -> dict[str, Any]:
    checkpoint = result.checkpoint
    return {"metrics": result.metrics, "checkpoint": checkpoint.path if checkpoint else None}


def _end_with_parent() -> None:
    """Wait until the parent is gone or lets go; then end every process that Ray has started."""
    while os.read(sys.stdin.fileno(), 1 << 10):
        pass
    end_tree(os.getpid())


def end_tree(pid: int) -> None:
    """Kill the process `pid` and all its descendants, `pid` last."""
    try:
        root = psutil.Process(pid)
        processes = [*root.children(recursive=True), root]
    except psutil.NoSuchProcess:
        return
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
