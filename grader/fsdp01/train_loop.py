"""Step 7: the loop that Ray Train runs on every worker, stopped after an epoch and resumed."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader import explain, storage
from grader.check import Check
from grader.fsdp01 import judge_loop
from grader.fsdp01.cases import SHALLOW, TIED, count_ranks, describe_model
from grader.fsdp01.judge_loop import Epoch
from grader.fsdp01.judge_step import judge_any_clipping, judge_initial
from grader.fsdp01.loop_watch import LoopStep, LoopWatch
from grader.fsdp01.truth import Clipping, train, weights_of
from grader.verdict import Failure
from sandbox import toys
from sandbox.errors import CollectiveMismatchError, DeadlockError, RankError

TrainLoop = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class LoopCase:
    """The first epoch on `world_sizes[0]` ranks, the second one resumed on `world_sizes[1]`."""

    world_sizes: tuple[int, int]
    model: dict[str, Any]
    max_norm: float
    seed: int

    def config(self, num_epochs: int) -> dict[str, Any]:
        """Return what the loop is given."""
        return {
            "model": {"vocab_size": 61, **self.model, "seed": self.seed, "dtype": torch.float64},
            "lr": 1e-2,
            "max_norm": self.max_norm,
            "num_samples": 24,
            "seq_len": 10,  # long enough that no two of the samples are alike
            "global_batch_size": 12,
            "num_epochs": num_epochs,
            "seed": self.seed,
        }

    def text(self, epoch: int) -> str:
        """Return "epoch 1, resumed, on 2 ranks, Transformer(dim=20)", for a verdict."""
        which = f"epoch {epoch}, resumed," if epoch else f"epoch {epoch}"
        ranks = count_ranks(self.world_sizes[epoch])
        return f"{which} on {ranks}, {describe_model(self.model)}"


CASES = (
    LoopCase(world_sizes=(4, 2), model=SHALLOW, max_norm=1e9, seed=1),
    LoopCase(world_sizes=(1, 3), model=TIED, max_norm=0.5, seed=2),
)


def check_train_loop(train_loop_per_worker: TrainLoop) -> None:
    """Judge `train_loop_per_worker(config)`: two epochs, the second resumed on other ranks."""
    proof = (
        "each epoch exactly once; every step equals the one-process run to 1e-12; one report per\n"
        "  epoch on every rank; resumed on another number of ranks as if never stopped"
    )
    with Check("train_loop", proof, train_loop_per_worker) as check:
        for case in CASES:
            with tempfile.TemporaryDirectory(prefix="shardlab-") as path:
                epochs: list[Epoch] = []
                for _ in case.world_sizes:
                    epochs.append(run_epoch(check, train_loop_per_worker, case, len(epochs), path))
                    check.judge(_judge(epochs, case))


def run_epoch(check: Check, loop: TrainLoop, case: LoopCase, epoch: int, path: str) -> Epoch:
    """Run the loop on ranks, through Ray Train, to the end of `epoch`; return what was seen."""
    world_size = case.world_sizes[epoch]
    before = case.world_sizes[epoch - 1] if epoch else 0
    without_checkpoint = storage.ranks_without_checkpoint(Path(path), before)
    storage.clear_reports(Path(path))
    try:
        run = check.launch(
            observe,
            loop,
            case.config(epoch + 1),
            path,
            world_size=world_size,
            case=case.text(epoch),
            init_process_group=False,
        )
    except RankError as error:
        is_in_parts = any(Path(path).rglob(".metadata"))  # dcp's: one rank's files are not it all
        if without_checkpoint and is_in_parts and explain.stub_of(error) is None:
            check.judge(judge_loop.lost_checkpoint(without_checkpoint, explain.failure_of(error)))
        raise
    except (DeadlockError, CollectiveMismatchError) as error:
        counts = [len(reports) for reports in storage.read_reports(Path(path), world_size)]
        if len(set(counts)) > 1:
            check.judge(judge_loop.unequal_reports(counts, explain.where_of(error)))
        raise
    reports = storage.read_reports(Path(path), world_size)
    return Epoch(run.results, reports, len(storage.checkpoints(Path(path))))


def observe(loop: TrainLoop, config: dict[str, Any], path: str) -> list[LoopStep]:
    """Run the loop through Ray Train's local mode; return this rank's optimizer steps."""
    from grader.ray_local import fit_on_ranks

    watch = LoopWatch()
    fit_on_ranks(loop, config, path)
    return watch.steps


def _judge(epochs: Sequence[Epoch], case: LoopCase) -> Failure | None:
    """Judge the last of `epochs`."""
    config = case.config(len(epochs))
    options = {"seq_len": config["seq_len"], "vocab_size": config["model"]["vocab_size"]}
    samples = toys.token_samples(range(config["num_samples"]), **options)
    failure = (
        judge_loop.judge_reports(epochs[-1], len(epochs) - 1)
        or judge_loop.judge_data(epochs, samples)  # first: an epoch repeated is reported again
        or judge_loop.judge_report_count([len(entry) for entry in epochs[-1].reports], 1)
    )
    if failure is None and len(epochs) == 1:
        initial = weights_of(toys.Transformer(**config["model"]))
        failure = judge_initial([steps[0].weights_before for steps in epochs[0].steps], initial)
    if failure is not None:
        return failure
    batches = [tokens for epoch in epochs for tokens in epoch.batches()]

    def judge(clipping: Clipping) -> Failure | None:
        model = toys.Transformer(**config["model"])
        truths = train(model, config["lr"], batches, case.max_norm, clipping)
        return judge_loop.judge_training(epochs[-1], truths, case.max_norm)

    return judge_any_clipping(judge)
