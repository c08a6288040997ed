"""Step 5: a checkpoint is complete or absent, whenever a rank dies and whatever is torn."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.fsdp04.crashes import CASE, NEXT_STEP, Saving, naming_races, tear, truths
from grader.fsdp04.damage import files_of
from grader.fsdp04.exercise import Check, LatestComplete, LoadShards, SaveCheckpoint
from grader.fsdp04.judge_recovery import judge_recovery
from grader.fsdp04.kill_points import choose, kill_points
from grader.fsdp04.newest import judge_newest, observe_newest
from grader.fsdp04.recovery import Scenario, observe_recoveries
from grader.fsdp04.state import Truth
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.failure import count_ranks

NUM_KILLS = 20
SEED = 2
NUM_TOGETHER = 6  # torn folders that two ranks look at, which must agree
NUM_AT_ONCE = 10  # kills, before what they left is looked at


def check_checkpoint(
    save_checkpoint: SaveCheckpoint, latest_complete: LatestComplete, load_shards: LoadShards
) -> None:
    """Judge the pair, with load_shards of step 3: kills, full disks, torn files, slow ranks."""
    proof = (
        f"a rank killed at {NUM_KILLS} points of a save, a full disk, any file torn after it: the\n"
        "  newest complete checkpoint loads and equals the uninterrupted run, and the next\n"
        "  save succeeds amid the debris"
    )
    with (
        Check("checkpoint", proof, save_checkpoint, latest_complete) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        saving = Saving(check, save_checkpoint, Path(path), CASE.world_size, truths())
        saved, changes = saving.prepare()
        check.judge(judge_written(saved))
        functions = (save_checkpoint, latest_complete, load_shards)
        whole = Scenario(str(saved), "after a save in which nothing happened", (NEXT_STEP,), False)
        recover(check, functions, [whole], saving.truths, Mistake.NOT_COMMITTED, CASE.world_size)
        # Early: who does not wait for others may be lucky up to here, and unlucky anywhere below.
        slow = check.require(saving.slow_down(changes))
        recover(check, functions, [slow], saving.truths, Mistake.TEMP_DIR_RACE)
        launched = (observe_newest, *functions, str(saving.path / "newest"), CASE, saving.truths[1])
        with naming_races(check, saving.path):
            run = check.launch(*launched, world_size=CASE.world_size, case="saving on 2 ranks")
        check.judge(judge_newest(run.results))
        torn = list(tear(saved, saving.base, Path(path, "torn")))
        recover(check, functions, torn, saving.truths)
        looked_at = [scenario for scenario in torn if not scenario.is_continued]
        recover(check, functions, looked_at[:NUM_TOGETHER], saving.truths, world_size=2)
        num_bytes = sum(file.stat().st_size for file in files_of(saved)) // 2  # of one checkpoint
        full = [saving.fill_disk(n) for n in (0, num_bytes // (2 * CASE.world_size))]
        recover(check, functions, [check.require(each) for each in full], saving.truths)
        points = choose(kill_points(changes), NUM_KILLS, SEED)
        for first in range(0, NUM_KILLS, NUM_AT_ONCE):
            some = enumerate(points[first : first + NUM_AT_ONCE], start=first)
            scenarios = [saving.kill(point, number) for number, point in some]
            recover(check, functions, scenarios, saving.truths)


def judge_written(saved: Path) -> Failure | None:
    """Judge that there are files."""
    if files_of(saved):
        return None
    expected = "files below root after save_checkpoint"
    return Failure(mistake=Mistake.NOT_COMMITTED, expected=expected, came="none")


def recover(
    check: Check,
    functions: tuple[SaveCheckpoint, LatestComplete, LoadShards],
    scenarios: Sequence[Scenario],
    truths: Sequence[Truth],
    mistake: Mistake | None = None,
    world_size: int = 1,
) -> None:
    """Go on from each scenario, and judge it; `mistake` is what any failure is then.

    Mostly on one rank: what is judged is the same there, and takes a tenth of the time.
    """
    launched = (observe_recoveries, *functions, CASE, truths[0], scenarios)
    text = f"going on from there on {count_ranks(world_size)}"
    ranks = check.launch(*launched, world_size=world_size, case=text).results
    for scenario, seen in zip(scenarios, zip(*ranks, strict=True), strict=True):
        failure = judge_recovery(scenario, seen, truths)
        if failure is not None:
            check.judge(replace(failure, mistake=mistake) if mistake else failure)
