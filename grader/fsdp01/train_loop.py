"""Step 7: the loop that Ray Train runs on every worker, stopped after epochs and resumed."""

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader import explain, storage
from grader.cases import SHALLOW, TIED, describe_model
from grader.fsdp01 import judge_epochs, judge_loop
from grader.fsdp01.exercise import Check
from grader.fsdp01.loop_run import LoopRun
from grader.fsdp01.loop_watch import LoopStep, LoopWatch
from grader.mistakes import Mistake
from grader.verdict import Failure
from grader.whose_line import function_at, line_of_call
from sandbox.errors import CollectiveMismatchError, DeadlockError, RankError
from sandbox.failure import count_ranks, name_ranks

TrainLoop = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class LoopCase:
    """`runs` of the loop, each resuming the one before: (world_size, num_epochs since epoch 0)."""

    runs: tuple[tuple[int, int], ...]
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

    def text(self, number: int) -> str:
        """Return "epochs 0 to 1 on 2 ranks, Transformer(dim=20)", for a verdict on one run."""
        world_size, stop = self.runs[number]
        first = self.runs[number - 1][1] if number else 0
        epochs = f"epoch {first}" if stop == first + 1 else f"epochs {first} to {stop - 1}"
        resumed = ", resumed," if number else ""
        return f"{epochs}{resumed} on {count_ranks(world_size)}, {describe_model(self.model)}"


CASES = (
    LoopCase(runs=((3, 2), (1, 3)), model=TIED, max_norm=0.5, seed=2),
    LoopCase(runs=((4, 1), (2, 2)), model=SHALLOW, max_norm=1e9, seed=1),
)


def check_train_loop(train_loop_per_worker: TrainLoop) -> None:
    """Judge `train_loop_per_worker(config)`: epochs in a row, and resumed on other ranks."""
    proof = (
        "each epoch exactly once; every step equals the one-process run to 1e-12; one report per\n"
        "  epoch on every rank; resumed on another number of ranks as if never stopped"
    )
    with Check("train_loop", proof, train_loop_per_worker) as check:
        for case in CASES:
            with tempfile.TemporaryDirectory(prefix="shardlab-") as path:
                runs: list[LoopRun] = []
                for number, (_, stop) in enumerate(case.runs):
                    runs.append(_run(check, train_loop_per_worker, case, number, path))
                    check.judge(judge_loop.judge_run(runs, case.config(stop)))


def _run(check: Check, loop: TrainLoop, case: LoopCase, number: int, path: str) -> LoopRun:
    """Run the loop on ranks, through Ray Train, to its last epoch; return what was seen."""
    world_size, stop = case.runs[number]
    before, first = case.runs[number - 1] if number else (0, 0)
    without_checkpoint = storage.ranks_without_checkpoint(Path(path), before)
    storage.clear_reports(Path(path))
    try:
        run = check.launch(
            observe,
            loop,
            case.config(stop),
            path,
            world_size=world_size,
            case=case.text(number),
            init_process_group=False,
        )
    except RankError as error:
        is_in_parts = any(Path(path).rglob(".metadata"))  # dcp's: one rank's files are not it all
        if without_checkpoint and is_in_parts and explain.stub_of(error) is None:
            check.judge(judge_loop.lost_checkpoint(without_checkpoint, explain.failure_of(error)))
        raise
    except (DeadlockError, CollectiveMismatchError) as error:
        check.judge(failure_of_hang(error, loop, path, world_size))
        raise
    return LoopRun.stored_at(path, first, stop, run.results)


def failure_of_hang(
    error: DeadlockError | CollectiveMismatchError,
    answer: Callable[..., Any],
    path: str,
    world_size: int,
) -> Failure | None:
    """Return what ranks did wrong that did not all report, or did not all save."""
    if failure := _lonely_save(error, answer, world_size):
        return failure
    counts = [len(reports) for reports in storage.read_reports(Path(path), world_size)]
    if len(set(counts)) > 1:
        return judge_epochs.unequal_reports(counts, explain.where_of(error))
    return None


def _lonely_save(
    error: DeadlockError | CollectiveMismatchError, answer: Callable[..., Any], world_size: int
) -> Failure | None:
    """Return what some ranks did wrong that were saving when the others were not."""
    site = explain.site_of(error)
    if function_at(site, [answer]) != "save_checkpoint" or error.run is None:
        return None
    at_site = error.run.ledger.where(lambda event: event.call_site == site)
    counts = Counter(event.rank for event in at_site)
    saving = [rank for rank in range(world_size) if counts[rank] == max(counts.values())]
    if len(saving) == world_size:
        return None
    return Failure(
        mistake=Mistake.RANK0_ONLY_SAVE,
        expected="save_checkpoint called on every rank",
        came=f"called on {name_ranks(saving)} alone",
        where=explain.describe_line(line_of_call("save_checkpoint", [answer]) or site),
    )


def observe(loop: TrainLoop, config: dict[str, Any], path: str) -> list[LoopStep]:
    """Run the loop through Ray Train's local mode; return this rank's optimizer steps."""
    from grader.ray_local import fit_on_ranks

    watch = LoopWatch()
    fit_on_ranks(loop, config, path)
    return watch.steps
