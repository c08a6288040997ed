"""The grader's own TrainState, as the notebook's, and the one-process run that it must equal."""

import copy
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.optim.lr_scheduler import LambdaLR

from grader.cases import LEARNING_RATE, Case, new_sharded, share_of
from grader.plain import as_plain
from grader.shards import Shard, chunk_rows, shards_of
from grader.truth import one_thread, weights_of
from sandbox import toys

WARMUP_STEPS = 6
MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class TrainState:
    """All that a checkpoint holds, with the notebook's names."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: LambdaLR
    step: int


@dataclass(frozen=True)
class Snapshot:
    """What one rank has of a state: weights and moments by name, the learning rate, the step."""

    weights: dict[str, Shard]
    moments: dict[str, Shard]
    lr: float
    step: object


@dataclass(frozen=True)
class Truth:
    """The whole state after some steps."""

    weights: dict[str, Tensor]
    moments: dict[str, Tensor]
    lr: float


def warm_up(step: int) -> float:
    """Return the factor of the learning rate at a step."""
    return min(1.0, (step + 1) / WARMUP_STEPS)


def new_state(case: Case, seed: int = 0, lr: float = LEARNING_RATE) -> TrainState:
    """Return a sharded state before its first step. Collective: every rank must call this."""
    model, optimizer = new_sharded(case, seed, lr)
    return TrainState(model, optimizer, LambdaLR(optimizer, warm_up), step=0)


@torch.no_grad()
def fill(state: TrainState, truth: Truth, step: int) -> None:
    """Make `state` that of the uninterrupted run after `step` steps: cheaper than training."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    state.optimizer.state.clear()
    for name, weight in state.model.named_parameters():
        first, stop = chunk_rows(len(weight), rank, world_size)
        _local(weight).copy_(truth.weights[name][first:stop])
        if not weight.requires_grad or not step:
            continue
        moments = {key: torch.zeros_like(weight) for key in MOMENTS}
        for key, moment in moments.items():
            _local(moment).copy_(truth.moments[f"{name}, {key}"][first:stop])
        state.optimizer.state[weight] = {"step": torch.tensor(float(step)), **moments}
    lr = {"_last_lr": [truth.lr], "last_epoch": step, "_step_count": step + 1}
    state.scheduler.load_state_dict({**state.scheduler.state_dict(), **lr})
    state.optimizer.param_groups[0]["lr"] = truth.lr
    state.step = step


def _local(tensor: Tensor) -> Tensor:
    assert isinstance(tensor, DTensor)
    return tensor.to_local()


def take_steps(state: TrainState, case: Case, num_steps: int) -> None:
    """Train on this rank's share of batches that are the same for every number of ranks."""
    for _ in range(num_steps):
        take_step(state, share_of(case.fixed_batch(state.step)))


def take_snapshot(state: TrainState) -> Snapshot:
    """Return a copy of what this rank has."""
    named = dict(state.model.named_parameters())
    moments = {
        f"{name}, {key}": state.optimizer.state.get(weight, {}).get(key)
        for name, weight in named.items()
        for key in MOMENTS
    }
    lr = float(state.optimizer.param_groups[0]["lr"])
    step: Any = state.step
    plain = as_plain(step.item() if isinstance(step, Tensor) else step)
    return Snapshot(shards_of(named.items()), shards_of(moments.items()), lr, plain)


def truth_of(case: Case, num_steps: int) -> list[Truth]:
    """Return the uninterrupted one-process run: before the first step, and after each."""
    model = case.new_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    state = TrainState(model, optimizer, LambdaLR(optimizer, warm_up), step=0)
    truths = [_truth_now(state)]
    with one_thread():
        for step in range(num_steps):
            take_step(state, case.fixed_batch(step))
            truths.append(_truth_now(state))
    return truths


def take_step(state: Any, tokens: Tensor) -> None:
    """Train on these tokens; `state` is a TrainState, ours or the notebook's."""
    toys.next_token_loss(state.model(tokens), tokens).backward()
    state.optimizer.step()
    state.scheduler.step()
    state.optimizer.zero_grad()
    state.step += 1


def _truth_now(state: TrainState) -> Truth:
    moments = {
        f"{name}, {key}": copy.deepcopy(state.optimizer.state[weight][key])
        for name, weight in state.model.named_parameters()
        for key in MOMENTS
        if weight in state.optimizer.state
    }
    return Truth(weights_of(state.model), moments, state.optimizer.param_groups[0]["lr"])
