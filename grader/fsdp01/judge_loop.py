"""Judge a training loop by what it did: its samples, steps, reports and checkpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.fsdp01.judge_step import judge_arrived, judge_loss, judge_norm, judge_weights
from grader.fsdp01.loop_watch import LoopStep
from grader.fsdp01.samples import judge_epoch
from grader.fsdp01.truth import StepTruth
from grader.mistakes import Mistake
from grader.storage import Report
from grader.verdict import Failure
from sandbox.failure import name_ranks

NUM_STEPS = 2  # of an epoch: 24 samples in batches of 12
METRICS = ("loss", "grad_norm", "epoch")


@dataclass(frozen=True)
class Epoch:
    """One run of the loop: the steps and reports of each rank, and the checkpoints now stored."""

    steps: list[list[LoopStep]]
    reports: list[list[Report]]
    num_checkpoints: int

    def batches(self) -> list[Tensor]:
        """Return the global batch of each step: all ranks' samples, rank 0's first."""
        ranks = [[step.tokens for step in steps] for steps in self.steps]
        return [torch.cat(parts) for parts in zip(*ranks, strict=True)]


def unequal_reports(counts: Sequence[int], where: str) -> Failure:
    """Return the failure of ranks that did not report equally often."""
    return Failure(
        mistake=Mistake.RANK0_ONLY_REPORT,
        expected="as many reports on every rank: one per epoch",
        came=", ".join(f"rank {rank}: {count}" for rank, count in enumerate(counts)),
        where=where,
    )


def lost_checkpoint(ranks: Sequence[int], failure: Failure) -> Failure:
    """Return the failure of a resume that misses what `ranks` kept to themselves."""
    return replace(
        failure,
        mistake=Mistake.RANK0_ONLY_CHECKPOINT,
        expected="a checkpoint from every rank, or one that is whole",
        came=f"none from {name_ranks(list(ranks))}; to resume raised {failure.came.split(':')[0]}",
    )


def judge_report_count(counts: Sequence[int], num_epochs: int) -> Failure | None:
    """Judge that no rank reported more often than once for each of `num_epochs` epochs."""
    for rank, count in enumerate(counts):
        if count > num_epochs:
            return Failure(
                mistake=Mistake.TOO_MANY_REPORTS,
                expected=f"one report per epoch, {num_epochs} in all",
                came=f"{count}",
                where=f"rank {rank}",
            )
    return None


def judge_reports(epoch: Epoch, number: int) -> Failure | None:
    """Judge what the ranks reported after epoch `number`, and that its checkpoint is stored."""
    counts = [len(reports) for reports in epoch.reports]
    if len(set(counts)) > 1:
        return unequal_reports(counts, "")
    for rank, reports in enumerate(epoch.reports):
        came = reports[-1] if reports else {}
        missing = [name for name in METRICS if type(came.get(name)) not in (int, float)]
        if missing or came["epoch"] != number:
            return Failure(
                mistake=Mistake.METRIC_MISSING,
                expected=f"numbers 'loss' and 'grad_norm', and 'epoch': {number}",
                came=f"{came}" if reports else "no report",
                where=f"rank {rank}",
            )
    if epoch.num_checkpoints <= number:
        expected = f"{number + 1} after {number + 1} epochs"
        return Failure(
            mistake=Mistake.NO_CHECKPOINT, expected=expected, came=f"{epoch.num_checkpoints}"
        )
    return None


# -- data -----------------------------------------------------------------------------------------


def judge_data(epochs: Sequence[Epoch], samples: Tensor) -> Failure | None:
    """Judge the samples of the last of `epochs`: all of them once, in batches, reshuffled."""
    id_of = {tuple(tokens): sample_id for sample_id, tokens in enumerate(samples.tolist())}
    seen = [_ids_by_step(epoch, id_of) for epoch in epochs]
    ranks = seen[-1]
    failure = _judge_batches(ranks, len(samples), is_resumed=len(epochs) > 1)
    if failure is not None:
        return failure
    slices = [[sample_id for step in steps for sample_id in step] for steps in ranks]
    if any(sample_id < 0 for entry in slices for sample_id in entry):
        return Failure(mistake=Mistake.UNKNOWN_SAMPLES)
    failure = judge_epoch(slices, len(samples))
    if failure is None and len(epochs) > 1 and _global_batches(seen[0]) == _global_batches(seen[1]):
        return Failure(
            mistake=Mistake.NO_SET_EPOCH,
            expected="other batches in epoch 1 than in epoch 0",
            came="the same batches",
        )
    return failure


def _ids_by_step(epoch: Epoch, id_of: Mapping[tuple[int, ...], int]) -> list[list[list[int]]]:
    """Return the sample ids as [rank][step][sample]; tokens that are no sample count as -1."""
    return [
        [[id_of.get(tuple(tokens), -1) for tokens in step.tokens.tolist()] for step in steps]
        for steps in epoch.steps
    ]


def _judge_batches(
    ranks: Sequence[Sequence[Sequence[int]]], num_samples: int, is_resumed: bool
) -> Failure | None:
    """Judge how many steps there are, and of how many samples."""
    num_steps = [len(steps) for steps in ranks]
    if is_resumed and num_steps == [2 * NUM_STEPS] * len(ranks):
        return Failure(
            mistake=Mistake.RESUME_FROM_EPOCH_0,
            expected="epoch 1 alone after a resume",
            came="epoch 0 again, then epoch 1",
        )
    if len(set(num_steps)) > 1:
        return Failure(mistake=Mistake.UNEVEN_BATCHES, expected="equal steps", came=f"{num_steps}")
    share = num_samples // NUM_STEPS // len(ranks)
    sizes = [[len(step) for step in steps] for steps in ranks]
    for rank, entry in enumerate(sizes):
        if entry != [share] * NUM_STEPS:
            return Failure(
                mistake=Mistake.WRONG_BATCH_SIZE,
                expected=f"{NUM_STEPS} steps of {share} samples on this rank",
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
    """Judge the steps of the last epoch of `truths`, and the numbers reported after it."""
    first = len(truths) - NUM_STEPS
    for step in range(NUM_STEPS):
        is_resuming = first > 0 and step == 0
        failure = _judge_step(epoch, truths[first : first + step + 1], max_norm, is_resuming)
        if failure is not None:
            return failure
    last = [reports[-1] for reports in epoch.reports]
    return judge_loss([report["loss"] for report in last], truths[-1]) or judge_norm(
        [report["grad_norm"] for report in last], truths[-1]
    )


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
