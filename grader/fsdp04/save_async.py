"""Step 8: a checkpoint that is written while training goes on."""

import contextlib
import os
import signal
import tempfile
from dataclasses import replace

import torch.distributed as dist

from grader.cases import FROZEN, SHALLOW, TIED, Case
from grader.fsdp04.async_watch import (
    COMMIT_S,
    HELD_STEP,
    NUM_STEPS_MEANWHILE,
    OTHER_SEED,
    observe,
    wait_until,
)
from grader.fsdp04.background import Background
from grader.fsdp04.exercise import Check, LatestComplete, LoadShards, SaveAsync
from grader.fsdp04.judge_async import judge
from grader.fsdp04.state import new_state, take_steps, truth_of
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.errors import RankDiedError
from sandbox.failure import count_ranks

CASES = (
    Case(world_size=2, model=TIED, data_seed=1),
    Case(world_size=3, model=SHALLOW, frozen=FROZEN, data_seed=2),
)


def check_save_async(
    save_async: SaveAsync, latest_complete: LatestComplete, load_shards: LoadShards
) -> None:
    """Judge `save_async(root, state, group, previous) -> Future`, on writing that is held back."""
    proof = (
        f"{NUM_STEPS_MEANWHILE} steps were taken while the save was held in the middle; what it "
        "holds is the\n  state of the call; it is complete when it is done, and a rank killed "
        "meanwhile costs\n  nothing that was; one save at a time; a full disk is told"
    )
    with Check("save_async", proof, save_async, latest_complete, load_shards) as check:
        answers = (save_async, latest_complete, load_shards)
        for case in CASES:
            with tempfile.TemporaryDirectory(prefix="shardlab-") as root:
                run = check.launch(
                    observe, *answers, root, case, world_size=case.world_size, case=case.text
                )
                check.judge(judge(run.results, truth_of(case, HELD_STEP + NUM_STEPS_MEANWHILE)))
        with tempfile.TemporaryDirectory(prefix="shardlab-") as root:
            check.judge(_kill_and_judge(check, *answers, root))


# -- a rank dies ----------------------------------------------------------------------------------


def _kill_and_judge(
    check: Check,
    save_async: SaveAsync,
    latest_complete: LatestComplete,
    load_shards: LoadShards,
    root: str,
) -> Failure | None:
    """Kill a rank in the middle of its second save; judge what another number of ranks finds."""
    case = CASES[0]
    text = f"a rank killed in its second save, {case.text}"
    with contextlib.suppress(RankDiedError):
        answers = (save_async, latest_complete)
        world_size = case.world_size
        check.launch(observe_death, *answers, root, case, world_size=world_size, case=text)
    alone = replace(case, world_size=1)
    run = check.launch(
        observe_after_kill,
        save_async,
        latest_complete,
        load_shards,
        root,
        alone,
        world_size=1,
        case=f"{text}; then resumed on {count_ranks(1)}",
    )
    return _judge_after_kill(*run.results[0])


def observe_death(
    save_async: SaveAsync, latest_complete: LatestComplete, root: str, case: Case
) -> None:
    """Save, and die on the last rank while the second save is held in the middle of writing."""
    group = dist.new_group(backend="gloo")
    state = new_state(case)
    with Background() as background:
        take_steps(state, case, 1)
        saved = save_async(root, state, group, None)
        saved.result()
        wait_until(lambda: latest_complete(root) is not None, COMMIT_S)
        dist.barrier()
        take_steps(state, case, 1)
        background.hold()
        background.call(save_async, root, state, group, saved)
        wait_until(lambda: background.is_held)
        dist.barrier()
        if dist.get_rank() == dist.get_world_size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()  # which nobody passes


def observe_after_kill(
    save_async: SaveAsync,
    latest_complete: LatestComplete,
    load_shards: LoadShards,
    root: str,
    case: Case,
) -> tuple[int | None, int | None]:
    """Return the step of the newest checkpoint, and of the one that is saved after it."""
    group = dist.new_group(backend="gloo")
    state = new_state(case, seed=OTHER_SEED)
    found = latest_complete(root)
    if found is None:
        return None, None
    load_shards(found, state)
    found_step = state.step
    take_steps(state, case, 1)
    save_async(root, state, group, None).result()
    wait_until(lambda: latest_complete(root) != found, COMMIT_S)
    load_shards(latest_complete(root), state)
    return found_step, state.step


def _judge_after_kill(found: int | None, saved: int | None) -> Failure | None:
    """Judge that the save before the one that broke off is found, and the one after it."""
    if found != 1:
        return Failure(
            mistake=Mistake.ASYNC_COMMITTED_EARLY,
            expected="latest_complete finds the checkpoint of step 1, saved before",
            came="nothing" if found is None else f"that of step {found}",
        )
    if saved != 2:
        return Failure(
            mistake=Mistake.ASYNC_NOT_COMMITTED,
            expected="a save after the crash is found: step 2",
            came=f"step {saved}",
        )
    return None
