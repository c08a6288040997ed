"""Which of several checkpoints is the newest: that of the highest step, not of the latest date."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import torch.distributed as dist

from grader.cases import Case
from grader.fsdp04.exercise import LatestComplete, LoadShards, SaveCheckpoint
from grader.fsdp04.state import Truth, fill, new_state
from grader.mistakes import Mistake
from grader.verdict import Failure

STEPS = (9, 10, 100)


def observe_newest(
    save_checkpoint: SaveCheckpoint,
    latest_complete: LatestComplete,
    load_shards: LoadShards,
    root: str,
    case: Case,
    truth: Truth,
) -> list[object]:
    """Save several steps; return that of the newest after each, and with the first one touched."""
    state = new_state(case)
    fill(state, truth, 1)

    def find_step() -> object:
        dist.barrier()
        found = latest_complete(root)
        if found is None:
            return None
        load_shards(found, state)
        return state.step

    found_steps = []
    first = None
    for step in STEPS:
        state.step = step
        save_checkpoint(root, state)
        found_steps.append(find_step())
        first = first or latest_complete(root)
        dist.barrier()
    if first is not None and Path(first).exists() and dist.get_rank() == 0:
        tomorrow = time.time() + 86_400
        for path in [Path(first), *Path(first).rglob("*")]:
            os.utime(path, (tomorrow, tomorrow))
    return [*found_steps, find_step()]


def judge_newest(ranks: Sequence[Sequence[object]]) -> Failure | None:
    """Judge that it is the one with the highest step, each time."""
    for rank, found in enumerate(ranks):
        for number, came in enumerate(found):
            expected = [*STEPS, STEPS[-1]][number]
            if came != expected:
                saved = ", ".join(map(str, STEPS[: number + 1]))
                touched = ", the files of the first dated tomorrow" * (number == len(STEPS))
                return Failure(
                    mistake=Mistake.NOT_THE_NEWEST,
                    expected=f"the checkpoint of step {expected}, of those saved: {saved}{touched}",
                    came=f"that of step {came}" if came is not None else "None",
                    where=f"rank {rank}",
                )
    return None
