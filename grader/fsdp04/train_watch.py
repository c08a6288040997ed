"""Watch a training loop from outside, step by step, into files: its ranks may be killed."""

import contextlib
import pickle
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

import sandbox
from grader.shards import Shard, shards_of
from sandbox import toys


@dataclass(frozen=True)
class WatchedStep:
    """One optimizer step of one rank: the model's inputs, loss, learning rate, weights.

    `before` are the weights before the step, of a generation's first step; else it is empty.
    """

    inputs: list[tuple[int, ...]]
    loss: float  # what toys.next_token_loss gave last
    lr: float
    before: dict[str, Shard]
    weights: dict[str, Shard]


@dataclass(frozen=True)
class WatchedRank:
    """One rank in one generation: its steps, and whether there was a checkpoint at its start."""

    has_checkpoint: bool
    steps: list[WatchedStep]


class TrainWatch:
    """Appends every optimizer step that follows a forward of a toy Transformer to this rank's file.

    A step without one is none of training: torch takes such to make an optimizer's empty state.
    """

    def __init__(self, folder: str, has_checkpoint: bool) -> None:
        self._path = _path(Path(folder), sandbox.generation(), dist.get_rank())
        self._path.write_bytes(pickle.dumps(has_checkpoint))
        self._model: nn.Module | None = None
        self._inputs: list[tuple[int, ...]] = []
        self._before: dict[str, Shard] = {}
        self._lr = 0.0
        self._loss = float("nan")
        self._is_first = True
        self._next_token_loss = toys.next_token_loss
        toys.next_token_loss = self._note_loss  # here alone: this process ends with the run
        register_module_forward_hook(self._after_forward)
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)

    def _after_forward(self, module: nn.Module, args: tuple[Any, ...], _: Any) -> None:
        if isinstance(module, toys.Transformer) and torch.is_grad_enabled():
            self._model = module
            self._inputs += [tuple(row) for row in args[0].tolist()]

    def _note_loss(self, *args: Any, **kwargs: Any) -> Tensor:
        loss = self._next_token_loss(*args, **kwargs)
        self._loss = loss.item()
        return loss

    def _before_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if not self._inputs or self._model is None:
            return
        self._lr = float(optimizer.param_groups[0]["lr"])
        if self._is_first:
            self._before = shards_of(self._model.named_parameters())

    def _after_step(self, *_: Any) -> None:
        if not self._inputs or self._model is None:
            return
        weights = shards_of(self._model.named_parameters())
        step = WatchedStep(self._inputs, self._loss, self._lr, self._before, weights)
        with self._path.open("ab") as file:
            file.write(pickle.dumps(step))
        self._inputs, self._before, self._is_first = [], {}, False


def observe_train(train: Any, config: Mapping[str, Any], root: str, folder: str) -> None:
    """Run the loop; its steps are appended to files in `folder`."""
    tempfile.tempdir = folder + "-temporary"  # what a killed rank leaves goes with the folder's
    Path(tempfile.tempdir).mkdir(exist_ok=True)
    TrainWatch(folder, any(Path(root).rglob(".metadata")))  # dcp's: the last file of a save
    train(dict(config), root)


def make_folders(place: Path) -> tuple[str, str]:
    """Make the folder of checkpoints, and that of what is seen."""
    (place / "root").mkdir(parents=True)
    (place / "seen").mkdir()
    return str(place / "root"), str(place / "seen")


def read_generations(folder: Path) -> list[list[WatchedRank]]:
    """Return what was seen in each generation, of each rank."""
    names = [path.name.split("-") for path in folder.iterdir()]
    num_ranks = Counter(int(generation) for generation, _ in names)
    return [
        [_read(_path(folder, generation, rank)) for rank in range(num_ranks[generation])]
        for generation in sorted(num_ranks)
    ]


def _path(folder: Path, generation: int, rank: int) -> Path:
    return folder / f"{generation}-{rank}"


def _read(path: Path) -> WatchedRank:
    """Read a rank's file; what it was writing when it was killed is left out."""
    entries: list[Any] = []
    with path.open("rb") as file, contextlib.suppress(EOFError, pickle.UnpicklingError):
        while True:
            entries.append(pickle.load(file))
    return WatchedRank(bool(entries and entries[0]), entries[1:])
