"""Run a loop twice, alone and interrupted, and lay the losses of one over those of the other."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import sandbox
from grader import explain, verdict
from grader.fsdp04.lineage import global_steps, place_of, samples_of
from grader.fsdp04.loss_picture import LossPicture, Stretch
from grader.fsdp04.train import Train
from grader.fsdp04.train_watch import WatchedRank, make_folders, observe_train, read_generations
from sandbox.faults.fault import Fault

Faults = Mapping[int, Sequence[Fault]]


@explain.telling_stubs("draw_losses")
def draw_losses(
    train: Train, config: Mapping[str, Any], world_size: tuple[int, int], faults: Faults
) -> LossPicture | None:
    """Run `train(config, root)` on as many ranks as may be, and again with `faults`; draw losses.

    Returns None, and says why, if the interrupted run took steps that the other did not.
    """
    with tempfile.TemporaryDirectory(prefix="shardlab-") as path:
        alone, alone_seen = make_folders(Path(path, "alone"))
        root, seen = make_folders(Path(path, "interrupted"))
        sandbox.launch(observe_train, train, config, alone, alone_seen, world_size=world_size[1])
        run = sandbox.launch_elastic(
            observe_train,
            train,
            config,
            root,
            seen,
            world_size=world_size,
            max_restarts=len(faults),
            faults=faults,
        )
        [whole] = read_generations(Path(alone_seen))
        generations = read_generations(Path(seen))
    steps = _steps_of(whole, config)
    stretches = []
    for generation, ranks in zip(run.generations, generations, strict=True):
        own = _steps_of(ranks, config)
        first = place_of(own[0], steps) if own else 0
        if first is None:
            verdict.show("Not drawn: a step has other inputs than any of the uninterrupted run.")
            return None
        losses = _losses(ranks)[: len(steps) - first]
        stretches.append(Stretch(first, losses, generation.world_size, generation.ended))
    return LossPicture(_losses(whole), stretches, run)


def _steps_of(ranks: Sequence[WatchedRank], config: Mapping[str, Any]) -> list:
    return global_steps(ranks, samples_of(config), config["mask_token"])


def _losses(ranks: Sequence[WatchedRank]) -> list[float]:
    """Return the mean over the ranks of each step that all of them completed."""
    by_step = zip(*(rank.steps for rank in ranks), strict=False)
    return [fmean(step.loss for step in steps) for steps in by_step]
