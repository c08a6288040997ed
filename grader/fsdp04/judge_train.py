"""Judge a training loop by what its ranks did: each step the uninterrupted run's, exactly once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from grader.fsdp04.lineage import (
    GlobalStep,
    global_steps,
    place_by_ids,
    place_of,
    samples_of,
)
from grader.fsdp04.train_watch import WatchedRank
from grader.judge_samples import judge_epoch, shorten, steps_per_epoch
from grader.mistakes import Mistake
from grader.parity import find_difference, is_close
from grader.truth import one_thread, weights_of
from grader.verdict import Failure
from sandbox import toys
from sandbox.failure import count_ranks

Ranks = Sequence[WatchedRank]  # of one generation


@dataclass(frozen=True)
class Uninterrupted:
    """The whole training as it should be: each step's inputs and lr, the weights around it.

    `weights[0]` are those before the first step, `weights[t + 1]` those after step t.
    """

    steps: list[GlobalStep]
    learning_rates: list[float]
    weights: list[dict[str, Tensor]]


def judge_uninterrupted(ranks: Ranks, config: Mapping[str, Any]) -> Uninterrupted | Failure:
    """Judge a run in which nothing happened; return what it shows that each step is."""
    steps = global_steps(ranks, samples_of(config), config["mask_token"])
    failure = _judge_num_steps(ranks, config) or _judge_data(steps, config)
    if failure is not None:
        return failure
    truth = train(steps, config)
    return _judge_steps(ranks, truth, 0, Mistake.WRONG_WEIGHTS) or truth


def train(steps: Sequence[GlobalStep], config: Mapping[str, Any]) -> Uninterrupted:
    """Train in one process, on the inputs that were seen and the samples that they come from."""
    model = toys.Transformer(**config["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    warmup_steps = config["warmup_steps"]
    scheduler = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup_steps))
    samples = samples_of(config)
    learning_rates, weights = [], [weights_of(model)]
    with one_thread():
        for step in steps:
            learning_rates.append(optimizer.param_groups[0]["lr"])
            logits = model(torch.tensor(step.rows))
            toys.next_token_loss(logits, samples[step.ids]).backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            weights.append(weights_of(model))
    return Uninterrupted(list(steps), learning_rates, weights)


def judge_generations(
    generations: Sequence[Ranks], truth: Uninterrupted, config: Mapping[str, Any]
) -> Failure | None:
    """Judge a run that was interrupted: where each generation began, and every step of it."""
    completed, samples = 0, samples_of(config)
    for number, ranks in enumerate(generations):
        where = f"generation {number}, on {count_ranks(len(ranks))}"
        steps = global_steps(ranks, samples, config["mask_token"])
        if not steps:
            continue
        first = place_of(steps[0], truth.steps)
        if first is None:
            first = place_by_ids(steps[0], truth.steps)
        if first is None:
            return replace(_foreign_batch(steps[0]), where=where)
        failure = (
            _judge_start(ranks, first, completed, truth, int(config["save_every"]))
            or _judge_last(first + len(steps), truth)
            or _judge_row(steps, first, truth)
            or _judge_steps(ranks, truth, first, Mistake.OPTIM_NOT_RESTORED)
        )
        if failure is not None:
            return replace(failure, where=", ".join(filter(None, [failure.where, where])))
        completed = max(completed, first + len(steps))
    return _wrong_end(completed, truth)


def _judge_last(stop: int, truth: Uninterrupted) -> Failure | None:
    """Judge that no step was taken beyond the last."""
    return _wrong_end(stop, truth) if stop > len(truth.steps) else None


def _wrong_end(stop: int, truth: Uninterrupted) -> Failure | None:
    if stop == len(truth.steps):
        return None
    expected = f"steps 0 to {len(truth.steps) - 1} by the end"
    came = f"the last was step {stop - 1}"
    return Failure(mistake=Mistake.WRONG_NUM_STEPS, expected=expected, came=came)


def _judge_num_steps(ranks: Ranks, config: Mapping[str, Any]) -> Failure | None:
    counts = [len(rank.steps) for rank in ranks]
    if set(counts) == {config["num_steps"]}:
        return None
    came = ", ".join(f"rank {rank}: {count}" for rank, count in enumerate(counts))
    expected = f"{config['num_steps']} steps on every rank, as config['num_steps'] says"
    return Failure(mistake=Mistake.WRONG_NUM_STEPS, expected=expected, came=came)


def _judge_data(steps: Sequence[GlobalStep], config: Mapping[str, Any]) -> Failure | None:
    """Judge that every epoch has each sample once, in global batches."""
    size = int(config["global_batch_size"])
    per_epoch = steps_per_epoch(config)
    ids: list[int] = []
    for number, step in enumerate(steps):
        known = [each for each in step.ids if each is not None]
        if len(known) < len(step.ids):
            next_step = "let train_step(state, ids, config) make them from the ids"
            return Failure(mistake=Mistake.UNKNOWN_SAMPLES, next_step=next_step)
        if len(known) != size:
            return Failure(
                mistake=Mistake.WRONG_BATCH_SIZE,
                expected=f"{size} samples, over all ranks",
                came=f"{len(known)}: {shorten(known)}",
                where=f"step {number}",
                next_step="let sample_ids(step, rank, world_size, config) say which are whose",
            )
        ids += known
        if len(ids) == per_epoch * size:
            if failure := judge_epoch([ids], int(config["num_samples"])):
                return replace(failure, where=f"epoch {number // per_epoch}")
            ids = []
    return None


def _judge_start(
    ranks: Ranks, first: int, completed: int, truth: Uninterrupted, save_every: int
) -> Failure | None:
    """Judge where a generation began: with which weights, on which data, and how far back."""
    before = [rank.steps[0].before for rank in ranks]
    states = [n for n, whole in enumerate(truth.weights) if not find_difference(before, whole)]
    if not states:
        difference = find_difference(before, truth.weights[first])
        assert difference is not None
        return difference.as_failure(Mistake.WEIGHTS_NOT_RESTORED, f"before step {first}, weight")
    if first not in states and states == [0]:
        expected, came = f"the weights before step {first}", "those before the first step"
        return Failure(mistake=Mistake.WEIGHTS_NOT_RESTORED, expected=expected, came=came)
    if first not in states:
        expected = f"the data of step {states[0]}, since the weights are those before it"
        came = f"the data of step {first}"
        return Failure(mistake=Mistake.DATALOADER_STATE_LOST, expected=expected, came=came)
    is_ignored = first == 0 and all(rank.has_checkpoint for rank in ranks)
    if first < completed - save_every:
        return Failure(
            mistake=Mistake.RESUME_FROM_STEP_0 if is_ignored else Mistake.TOO_MUCH_REDONE,
            expected=f"step {completed - save_every} or later, for {completed} were done and every "
            f"{save_every} are saved",
            came=f"it begins with step {first}",
        )
    if first % save_every and first < len(truth.steps):
        return Failure(
            mistake=Mistake.SAVED_AT_OTHER_STEPS,
            expected=f"a start after a multiple of {save_every} steps",
            came=f"it begins with step {first}",
        )
    return None


def _judge_row(steps: Sequence[GlobalStep], first: int, truth: Uninterrupted) -> Failure | None:
    """Judge that each step is the one after the one before, with the same masks as ever."""
    for number, step in enumerate(steps, start=first):
        if place_of(step, truth.steps) == number:
            continue
        by_ids = place_by_ids(step, truth.steps)
        if by_ids is None:
            return _foreign_batch(step)
        if by_ids == number:
            came = f"the samples of step {number}, with other masks than without interruption"
            return Failure(mistake=Mistake.NOISE_FOLLOWS_BATCH, came=came)
        expected, came = f"the data of step {number}", f"that of step {by_ids}"
        return Failure(mistake=Mistake.DATALOADER_STATE_LOST, expected=expected, came=came)
    return None


def _foreign_batch(step: GlobalStep) -> Failure:
    known = [each for each in step.ids if each is not None]
    came = f"samples {shorten(known)}: no step's without interruption"
    return Failure(mistake=Mistake.BATCH_FOLLOWS_WORLD_SIZE, came=came)


def _judge_steps(
    ranks: Ranks, truth: Uninterrupted, first: int, mistake: Mistake
) -> Failure | None:
    """Judge learning rate and weights of each step; `mistake` is what wrong weights are."""
    for number, steps in enumerate(zip(*(rank.steps for rank in ranks), strict=False), start=first):
        for rank, step in enumerate(steps):
            if not is_close(step.lr, truth.learning_rates[number]):
                return Failure(
                    mistake=Mistake.SCHEDULER_NOT_RESTORED if first else Mistake.SCHEDULER_TIMES_N,
                    expected=f"lr {truth.learning_rates[number]:.6g} in step {number}",
                    came=f"{step.lr:.6g}",
                    where=f"rank {rank}",
                )
        after = [step.weights for step in steps]
        if difference := find_difference(after, truth.weights[number + 1]):
            return difference.as_failure(mistake, f"after step {number}, weight")
    return None
