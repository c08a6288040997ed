"""Run a Ray Train trainer's own loop on warm ranks: Ray's local mode, with storage and barriers.

Imports Ray: use it in the ranks, where that is warm.
"""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.distributed as dist
from ray.train import Checkpoint, ScalingConfig
from ray.train.torch import TorchTrainer
from ray.train.v2._internal.execution.local_mode.torch import LocalTorchController
from ray.train.v2._internal.execution.train_fn_utils import LocalTrainFnUtils, set_train_fn_utils

from grader import storage


class StoringTrainFnUtils(LocalTrainFnUtils):
    """What `ray.train` functions do in the loop: as in a real run; Ray's local mode does less.

    `report` waits for all ranks and merges their checkpoints under the storage path;
    `get_checkpoint` returns the newest one there.
    """

    def __init__(self, experiment_name: str, path: Path) -> None:
        super().__init__(
            experiment_name=experiment_name,
            world_size=dist.get_world_size(),
            world_rank=dist.get_rank(),
            local_rank=int(os.environ["LOCAL_RANK"]),
            local_world_size=int(os.environ["LOCAL_WORLD_SIZE"]),
        )
        self._path = path

    def report(  # type: ignore[override]
        self, metrics: dict[str, Any], checkpoint: Checkpoint | None = None, **_: Any
    ) -> None:
        """Store the report and this rank's part of the checkpoint. Collective: all ranks wait."""
        super().report(metrics, checkpoint)
        rank = dist.get_rank()
        number = len(storage.checkpoints(self._path))
        final = storage.checkpoint_path(self._path, number)
        partial = final.with_suffix(".partial")
        storage.write_report(self._path, rank, metrics, checkpoint is not None)
        if checkpoint is not None:
            shutil.copytree(checkpoint.path, partial, dirs_exist_ok=True)
        self.barrier()  # every part is there; no rank still looks for the number above
        if rank == 0 and partial.exists():
            partial.rename(final)
        self.barrier()  # the whole is there

    def get_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint, of this run or of the one that it resumes."""
        found = storage.checkpoints(self._path)
        return Checkpoint.from_directory(str(found[-1])) if found else None

    def is_distributed(self) -> bool:
        """Return True: there are other ranks, or could be."""
        return True

    def barrier(self) -> None:
        """Wait for all ranks. Collective."""
        dist.barrier()

    def broadcast_from_rank_zero(self, data: Any) -> Any:
        """Return rank 0's data on every rank. Collective."""
        box = [data]
        dist.broadcast_object_list(box)
        return box[0]


class _StoringController(LocalTorchController):
    """Ray's local controller, with functions that store."""

    def __init__(self, experiment_name: str, path: Path) -> None:
        super().__init__(experiment_name=experiment_name)
        self._path = path

    def _set_train_fn_utils(self) -> None:
        super()._set_train_fn_utils()
        set_train_fn_utils(StoringTrainFnUtils(self.experiment_name, self._path))


class _WarmTrainer(TorchTrainer):
    """A TorchTrainer whose workers are the ranks that call `fit`."""

    def __init__(self, path: Path, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._path = path

    def _get_local_controller(self) -> LocalTorchController:
        return _StoringController(str(self.run_config.name), self._path)


def fit_on_ranks(loop: Callable[..., None], config: dict[str, Any] | None, path: str) -> None:
    """Run a trainer's loop with its config; reports and checkpoints go to `path`.

    Collective: every rank of a launch without a process group; Ray makes the group and ends it.
    """
    logging.getLogger("ray").setLevel(logging.WARNING)
    local = ScalingConfig(num_workers=0)
    _WarmTrainer(Path(path), loop, train_loop_config=config, scaling_config=local).fit()
