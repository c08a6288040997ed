"""Step 7: a loop that is killed, loses ranks and gets them back, and trains as if nothing was."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from grader import explain
from grader.fsdp04.exercise import Check
from grader.fsdp04.judge_train import Uninterrupted, judge_generations, judge_uninterrupted
from grader.fsdp04.train_watch import make_folders, observe_train, read_generations
from grader.mistakes import Mistake
from grader.verdict import Failure
from grader.whose_line import function_at
from sandbox.elastic.elastic_run import ElasticRun
from sandbox.errors import CollectiveMismatchError, DeadlockError
from sandbox.faults import Join, Kill, Lose, Save, Step
from sandbox.faults.fault import Fault

Train = Callable[[dict[str, Any], str], None]

CONFIG: dict[str, Any] = {
    "model": {
        "vocab_size": 62,
        "dim": 6,
        "num_heads": 3,
        "hidden_dim": 7,
        "num_blocks": 1,
        "dtype": torch.float64,
    },
    "lr": 1e-2,
    "warmup_steps": 6,
    "num_samples": 24,
    "seq_len": 40,  # so long that no two of the samples are alike, masked as they may be
    "global_batch_size": 12,
    "mask_rate": 1 / 8,
    "mask_token": 61,
    "num_steps": 10,
    "save_every": 3,
    "num_kept": 2,
    "seed": 3,
}


@dataclass(frozen=True)
class Interrupted:
    """A run on `world_size` (minimum, maximum) ranks, and what happens in each generation."""

    text: str
    world_size: tuple[int, int]
    faults: Mapping[int, Sequence[Fault]]

    @property
    def num_deaths(self) -> int:
        """Return how many generations end with a death."""
        return sum(isinstance(fault, Kill) for faults in self.faults.values() for fault in faults)


CASES = (
    Interrupted(
        "4 ranks, one lost in step 4; 3, one killed in the save of step 6; 3, one joins; 4",
        (2, 4),
        {
            0: [Lose(rank=3, at=Step(5))],
            1: [Kill(rank=0, at=Save(1))],
            2: [Join(num_ranks=1, at=Step(5))],
        },
    ),
    Interrupted(
        "2 ranks, one lost in the first step; 1, killed in the first save; 1",
        (1, 2),
        {0: [Lose(rank=0, at=Step(1))], 1: [Kill(rank=0, at=Save(1))]},
    ),
)


def check_train(train: Train) -> None:
    """Judge `train(config, root)`: alone, and killed, shrunk and grown, by what its ranks did."""
    proof = (
        "over kills, lost ranks and new ones: every sample of each epoch exactly once, every step\n"
        "  equal to the uninterrupted run to 1e-12, at most save_every steps done twice"
    )
    with (
        Check("train", proof, train) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        truth = _run_alone(check, train, Path(path, "alone"))
        for number, case in enumerate(CASES):
            place = Path(path, f"{number}")
            _run_interrupted(check, train, case, place, truth)
            check.judge(_judge_again(check, train, place))


def _run_alone(check: Check, train: Train, place: Path) -> Uninterrupted:
    """Run it without any trouble, on two ranks."""
    root, folder = make_folders(place)
    case = "2 ranks, without any trouble"
    check.launch(observe_train, train, CONFIG, root, folder, world_size=2, case=case)
    [ranks] = read_generations(Path(folder))
    truth = check.require(judge_uninterrupted(ranks, CONFIG))
    check.judge(judge_kept(Path(root)))
    return truth


def _run_interrupted(
    check: Check, train: Train, case: Interrupted, place: Path, truth: Uninterrupted
) -> None:
    root, folder = make_folders(place)
    try:
        run = check.launch_elastic(
            observe_train,
            train,
            CONFIG,
            root,
            folder,
            world_size=case.world_size,
            max_restarts=case.num_deaths,
            faults=case.faults,
            case=case.text,
        )
    except (DeadlockError, CollectiveMismatchError) as error:
        if function_at(explain.site_of(error), [train]) == "load_shards":
            failure = explain.failure_of(error)
            check.judge(replace(failure, mistake=Mistake.LOADED_BY_SOME_RANKS))
        raise
    check.judge(judge_ends(run))
    check.judge(judge_generations(read_generations(Path(folder)), truth, CONFIG))


def _judge_again(check: Check, train: Train, place: Path) -> Failure | None:
    """Start a finished run once more: there is nothing left to do."""
    folder = place / "again"
    folder.mkdir()
    text = "started again when it had finished"
    again = (observe_train, train, CONFIG, str(place / "root"), str(folder))
    check.launch(*again, world_size=1, case=text)
    [[rank]] = read_generations(folder)
    if not rank.steps:
        return None
    came = f"{len(rank.steps)} steps"
    return Failure(mistake=Mistake.LAST_STEP_NOT_SAVED, expected="no more steps", came=came)


# -- judge ----------------------------------------------------------------------------------------


def judge_kept(root: Path) -> Failure | None:
    """Judge that as many checkpoints are there as are to be kept: dcp's own files count them."""
    num_there, num_kept = len(list(root.rglob(".metadata"))), CONFIG["num_kept"]
    if num_there == num_kept:
        return None
    expected = f"{num_kept} checkpoints at the end, as config['num_kept'] says"
    mistake = Mistake.NOT_REMOVED if num_there > num_kept else Mistake.NEWEST_REMOVED
    return Failure(mistake=mistake, expected=expected, came=f"{num_there}")


def judge_ends(run: ElasticRun) -> Failure | None:
    """Judge that a generation failed only where something was done to it."""
    for generation in run.generations:
        if generation.error is not None and not generation.run.faults:
            return explain.failure_of(generation.error)
    return None
