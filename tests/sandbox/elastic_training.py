"""FSDP2 training that goes on from its last checkpoint: under launch_elastic, torchrun and Ray.

Run by torchrun as: elastic_training.py FOLDER
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

NUM_STEPS = 6
KILLED_STEP = 3
GLOBAL_BATCH_SIZE = 12
# Ranks add up their parts of a gradient in another order than one process its whole, in float64.
TOLERANCE = 1e-12


def make_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(7, 5), nn.Tanh(), nn.Linear(5, 3)).double()


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=0.1)


def make_batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and targets of a step, which no rank and no generation changes."""
    generator = torch.Generator().manual_seed(step)
    shapes = (GLOBAL_BATCH_SIZE, 7), (GLOBAL_BATCH_SIZE, 3)
    inputs, targets = (torch.randn(s, generator=generator).double() for s in shapes)
    return inputs, targets


def train_alone() -> dict[str, torch.Tensor]:
    """Return the weights of one process that is never interrupted, on whole batches."""
    model = make_model()
    optimizer = make_optimizer(model)
    for step in range(NUM_STEPS):
        inputs, targets = make_batch(step)
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.state_dict()


def train(folder: Path, kills_itself: bool) -> None:
    """Train, save at every step, and leave the final weights in FOLDER/weights.pt.

    Collective. Rank 1 kills itself at KILLED_STEP if it shall, once in all generations. Each start
    leaves the number of its ranks, and where it began, in FOLDER/starts.
    """
    from torch.distributed.fsdp import fully_shard

    model = make_model()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = make_optimizer(model)
    first = resume(folder, model, optimizer)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        with (folder / "starts").open("a") as file:
            file.write(f"{world_size} {first}\n")
    for step in range(first, NUM_STEPS):
        inputs, targets = make_batch(step)
        mine = slice(rank, None, world_size)
        nn.functional.mse_loss(model(inputs[mine]), targets[mine]).backward()
        if kills_itself and rank == 1 and step == KILLED_STEP and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.step()
        optimizer.zero_grad()
        save(folder, step + 1, model, optimizer)
    weights = {name: value.full_tensor() for name, value in model.state_dict().items()}
    if rank == 0:
        torch.save(weights, folder / "weights.pt")


def save(folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict

    weights, states = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": states}, checkpoint_id=folder / f"{step}.tmp")
    if dist.get_rank() == 0:
        (folder / f"{step}.tmp").rename(folder / f"step{step}")
    dist.barrier()


def resume(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load the newest checkpoint, if there is one; return how many steps it has made."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    step = max((int(path.name.removeprefix("step")) for path in folder.glob("step*")), default=0)
    if step:
        weights, states = get_state_dict(model, optimizer)
        loaded = {"model": weights, "optimizer": states}
        dcp.load(loaded, checkpoint_id=folder / f"step{step}")
        set_state_dict(
            model,
            optimizer,
            model_state_dict=loaded["model"],
            optim_state_dict=loaded["optimizer"],
        )
    return step


def read_starts(folder: Path) -> list[tuple[int, ...]]:
    """Return (number of ranks, step at which it began) of each start."""
    lines = (folder / "starts").read_text().splitlines()
    return [tuple(map(int, line.split())) for line in lines]


def assert_weights_are_those_of_one_process(folder: Path) -> None:
    expected, found = train_alone(), torch.load(folder / "weights.pt")
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=TOLERANCE)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    train(Path(sys.argv[1]), kills_itself=True)
    dist.destroy_process_group()
