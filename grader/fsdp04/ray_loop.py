"""Step 9: the loop that Ray Train runs on every worker, and starts again on fewer."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader import explain, storage
from grader.fsdp04.exercise import Check
from grader.fsdp04.judge_train import Uninterrupted, judge_generations, judge_uninterrupted
from grader.fsdp04.ray_reports import judge_counts, judge_stored
from grader.fsdp04.train import CONFIG, judge_ends
from grader.fsdp04.train_watch import TrainWatch, make_folders, read_generations
from grader.mistakes import Mistake
from sandbox.errors import CollectiveMismatchError, DeadlockError
from sandbox.faults import Lose, Step

TrainLoop = Callable[[dict[str, Any]], None]

WORLD_SIZE = 3
ELASTIC = (2, 4)
LOST_IN_STEP = 6  # the fifth was the last that was done; the third, the last that was saved


def check_train_loop(train_loop_per_worker: TrainLoop) -> None:
    """Judge `train_loop_per_worker(config)`: alone, then with a rank lost on the way."""
    proof = (
        "on 3 ranks every step equals one process's to 1e-12, and every rank reports each save;\n"
        "  one of 4 ranks lost, the other 3 go on from Ray's newest checkpoint"
    )
    with (
        Check("train_loop", proof, train_loop_per_worker) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        truth = _run_alone(check, train_loop_per_worker, Path(path, "alone"))
        _run_elastic(check, train_loop_per_worker, Path(path, "elastic"), truth)


def observe(loop: TrainLoop, config: Mapping[str, Any], path: str, folder: str) -> None:
    """Run the loop through Ray Train's local mode; its steps are appended to files in `folder`."""
    from grader.ray_local import fit_on_ranks

    has_checkpoint = bool(storage.checkpoints(Path(path)))

    def watched(given: dict[str, Any]) -> None:
        TrainWatch(folder, has_checkpoint)
        loop(given)

    fit_on_ranks(watched, dict(config), path)


def _run_alone(check: Check, loop: TrainLoop, place: Path) -> Uninterrupted:
    """Run it without any trouble."""
    path, folder = make_folders(place)
    case = f"{WORLD_SIZE} ranks, without any trouble"
    try:
        check.launch(
            observe,
            loop,
            CONFIG,
            path,
            folder,
            world_size=WORLD_SIZE,
            case=case,
            init_process_group=False,
        )
    except (DeadlockError, CollectiveMismatchError) as error:
        reports = storage.read_reports(Path(path), WORLD_SIZE)
        check.judge(judge_counts(reports, explain.where_of(error)))
        raise
    [ranks] = read_generations(Path(folder))
    truth = check.require(judge_uninterrupted(ranks, CONFIG))
    check.judge(judge_stored(Path(path), WORLD_SIZE, CONFIG))
    return truth


def _run_elastic(check: Check, loop: TrainLoop, place: Path, truth: Uninterrupted) -> None:
    """Run it on 4 ranks, of which one is lost; Ray starts the loop again on the other 3."""
    path, folder = make_folders(place)
    run = check.launch_elastic(
        observe,
        loop,
        CONFIG,
        path,
        folder,
        world_size=ELASTIC,
        max_restarts=1,
        faults=[Lose(rank=2, at=Step(LOST_IN_STEP))],
        case=f"4 ranks, one lost in step {LOST_IN_STEP - 1}; resumed on 3",
        init_process_group=False,
    )
    check.judge(judge_ends(run))
    failure = judge_generations(read_generations(Path(folder)), truth, CONFIG)
    if failure is not None and failure.mistake is Mistake.RESUME_FROM_STEP_0:
        hint = "ask ray.train.get_checkpoint() before the first step, and load what it returns"
        failure = replace(failure, next_step=hint)
    check.judge(failure)
