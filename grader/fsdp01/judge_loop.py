"""Judge a training loop by what it did: its samples, its steps, and the numbers it reported."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from grader.fsdp01.judge_epochs import judge_epochs
from grader.fsdp01.loop_run import Epoch, LoopRun
from grader.judge_samples import judge_epoch, steps_per_epoch
from grader.judge_step import (
    judge_any_clipping,
    judge_arrived,
    judge_initial,
    judge_loss,
    judge_norm,
    judge_weights,
)
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.truth import Clipping, StepTruth, train, weights_of
from grader.verdict import Failure
from sandbox import toys
from sandbox.failure import name_ranks


def judge_run(runs: Sequence[LoopRun], config: Mapping[str, Any]) -> Failure | None:
    """Judge the last of `runs`, in which the ranks trained on from where the ones before ended.

    `config` is what the loop was given; the truth is one process on the same batches.
    """
    run, num_steps = runs[-1], steps_per_epoch(config)
    if failure := judge_epochs(run):
        return failure
    epochs = [epoch for entry in runs for epoch in entry.epochs(num_steps)]
    options = {"seq_len": config["seq_len"], "vocab_size": config["model"]["vocab_size"]}
    samples = toys.token_samples(range(config["num_samples"]), **options)
    for number in run.numbers:
        if failure := judge_data(epochs[: number + 1], samples, num_steps):
            return replace(
                failure, where=", ".join(filter(None, [failure.where, f"epoch {number}"]))
            )
    if run.first == 0:
        initial = weights_of(toys.Transformer(**config["model"]))
        if failure := judge_initial([steps[0].weights_before for steps in run.steps], initial):
            return failure
    batches = [tokens for epoch in epochs for tokens in epoch.batches()]

    def judge(clipping: Clipping) -> Failure | None:
        model = toys.Transformer(**config["model"])
        truths = train(model, config["lr"], batches, config["max_norm"], clipping)
        failures = (judge_training(epochs[i], truths, config["max_norm"]) for i in run.numbers)
        return next(filter(None, failures), None)

    return judge_any_clipping(judge)


def lost_checkpoint(ranks: Sequence[int], failure: Failure) -> Failure:
    """Return the failure of a resume that misses what `ranks` kept to themselves."""
    return replace(
        failure,
        mistake=Mistake.RANK0_ONLY_CHECKPOINT,
        expected="a checkpoint from every rank, or one that is whole",
        came=f"none from {name_ranks(list(ranks))}; to resume raised {failure.came.split(':')[0]}",
    )


# -- data -----------------------------------------------------------------------------------------


def judge_data(epochs: Sequence[Epoch], samples: Tensor, num_steps: int) -> Failure | None:
    """Judge the samples of the last of `epochs`: all of them once, in batches, reshuffled."""
    id_of = {tuple(tokens): sample_id for sample_id, tokens in enumerate(samples.tolist())}
    seen = [_ids_by_step(epoch, id_of) for epoch in epochs]
    ranks = seen[-1]
    failure = _judge_batches(ranks, len(samples), num_steps)
    if failure is not None:
        return failure
    slices = [[sample_id for step in steps for sample_id in step] for steps in ranks]
    if any(sample_id < 0 for entry in slices for sample_id in entry):
        return Failure(mistake=Mistake.UNKNOWN_SAMPLES)
    if failure := judge_epoch(slices, len(samples)):
        return failure
    earlier = [_global_batches(entry) for entry in seen[:-1]]
    if _global_batches(ranks) in earlier:
        number = earlier.index(_global_batches(ranks))
        return Failure(
            mistake=Mistake.LOOP_REPEATS_EPOCH,
            expected=f"other batches than in epoch {number}",
            came="the same batches",
        )
    return None


def _ids_by_step(epoch: Epoch, id_of: Mapping[tuple[int, ...], int]) -> list[list[list[int]]]:
    """Return the sample ids as [rank][step][sample]; tokens that are no sample count as -1."""
    return [
        [[id_of.get(tuple(tokens), -1) for tokens in step.tokens.tolist()] for step in steps]
        for steps in epoch.steps
    ]


def _judge_batches(
    ranks: Sequence[Sequence[Sequence[int]]], num_samples: int, num_steps: int
) -> Failure | None:
    """Judge how many steps there are, and of how many samples."""
    came = [len(steps) for steps in ranks]
    if len(set(came)) > 1:
        return Failure(mistake=Mistake.UNEVEN_BATCHES, expected="equal steps", came=f"{came}")
    share = num_samples // num_steps // len(ranks)
    sizes = [[len(step) for step in steps] for steps in ranks]
    for rank, entry in enumerate(sizes):
        if entry != [share] * num_steps:
            return Failure(
                mistake=Mistake.WRONG_BATCH_SIZE,
                expected=f"{num_steps} steps of {share} samples on this rank",
                came=f"samples per step: {entry}",
                where=f"rank {rank}",
            )
    return None


def _global_batches(ranks: Sequence[Sequence[Sequence[int]]]) -> list[set[int]]:
    return [
        {sample_id for step in steps for sample_id in step} for steps in zip(*ranks, strict=True)
    ]


# -- training -------------------------------------------------------------------------------------


def judge_training(epoch: Epoch, truths: Sequence[StepTruth], max_norm: float) -> Failure | None:
    """Judge the steps of one epoch, and the numbers reported after it.

    `truths` holds every step since the first epoch's.
    """
    num_steps = len(epoch.steps[0])
    first = epoch.number * num_steps
    is_going_on = first > 0 and not epoch.is_resumed
    if is_going_on and (failure := _judge_kept(epoch, truths[first - 1])):
        return failure
    for step in range(num_steps):
        is_resuming = epoch.is_resumed and step == 0
        so_far = truths[first : first + step + 1]
        if failure := _judge_step(epoch, so_far, max_norm, is_resuming):
            return failure
    truth = truths[first + num_steps - 1]
    return judge_loss([report["loss"] for report in epoch.reports], truth) or judge_norm(
        [report["grad_norm"] for report in epoch.reports], truth
    )


def _judge_kept(epoch: Epoch, before: StepTruth) -> Failure | None:
    """Judge that an epoch begins with the weights that the one before it ended with."""
    weights = [steps[0].weights_before for steps in epoch.steps]
    difference = find_difference(weights, before.weights)
    what = f"at the start of epoch {epoch.number}, weight"
    return difference.as_failure(Mistake.MODEL_NOT_KEPT, what) if difference else None


def _judge_step(
    epoch: Epoch, truths: Sequence[StepTruth], max_norm: float, is_resuming: bool
) -> Failure | None:
    """Judge the gradients and weights of the last of `truths`.

    The first gradient after a resume shows the restored weights, the step that it makes the
    restored moments of the optimizer.
    """
    ranks = [steps[len(truths) - 1] for steps in epoch.steps]
    failure = judge_arrived([[rank.arrived] for rank in ranks], truths, max_norm)
    if failure is not None and failure.mistake is Mistake.NO_GRADIENT:
        return failure  # first: without a backward FSDP2 leaves the root's parameters plain
    plain = [name for name, shard in ranks[0].weights.items() if shard.placements is None]
    if plain:
        came = f"'{plain[0]}' is a plain tensor"
        return Failure(mistake=Mistake.NOT_WRAPPED, expected="sharded parameters", came=came)
    if failure is not None:
        is_unnamed = failure.mistake is Mistake.WRONG_GRADIENT
        return _rename(failure, Mistake.WEIGHTS_NOT_RESTORED, is_resuming and is_unnamed)
    failure = judge_weights([rank.weights for rank in ranks], truths[-1])
    return _rename(failure, Mistake.OPTIM_NOT_RESTORED, is_resuming)


def _rename(failure: Failure | None, mistake: Mistake, applies: bool) -> Failure | None:
    return replace(failure, mistake=mistake) if failure is not None and applies else failure
