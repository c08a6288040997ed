"""fsdp04's kill points: chosen by a seed, and survived by the solution, every one of them."""

import tempfile
from pathlib import Path

import answers
import pytest

import sandbox
from grader.fsdp04.checkpoint import recover
from grader.fsdp04.crashes import Saving, truths
from grader.fsdp04.exercise import Check
from grader.fsdp04.kill_points import NUM_LAST, choose, kill_points
from sandbox.faults import Change, ChangeKind

pytestmark = [pytest.mark.fsdp04, pytest.mark.timeout(900)]
WORLD_SIZES = (1, 2, 3)
NUM_KILLS, NUM_SEEDS = 20, 50


def made_up_points():
    kinds = [ChangeKind.MKDIR, ChangeKind.OPEN, *[ChangeKind.WRITE] * 30, ChangeKind.RENAME]
    return kill_points([[Change(kind, f"/root/{rank}") for kind in kinds] for rank in range(3)])


def test_points_are_counted_from_1_for_each_rank():
    points = made_up_points()
    assert len(points) == 3 * 33
    assert [(p.rank, p.number) for p in points[32:34]] == [(0, 33), (1, 1)]
    assert repr(points[33].fault) == "Kill(rank=1, at=FileChange(1))"
    assert points[2].text == "rank 0 was killed in the middle of a write to 0"
    assert points[32].text == "rank 0 was killed before its rename of 0"


@pytest.mark.parametrize("seed", range(5))
def test_a_choice_holds_the_commit_and_every_kind_and_repeats_itself(seed):
    points = made_up_points()
    chosen = choose(points, NUM_KILLS, seed)
    assert chosen == choose(points, NUM_KILLS, seed)
    assert len(set(chosen)) == NUM_KILLS
    assert set(points[33 - NUM_LAST : 33]) <= set(chosen)
    assert {point.change.kind for point in chosen} == {p.change.kind for p in points}


def test_another_seed_chooses_others():
    points = made_up_points()
    assert choose(points, NUM_KILLS, 1) != choose(points, NUM_KILLS, 2)


def test_of_few_points_all_are_chosen():
    points = made_up_points()[:7]
    assert choose(points, NUM_KILLS, 0) == points


@pytest.fixture(scope="module")
def functions():
    """Return save_checkpoint, latest_complete and load_shards of the solution."""
    namespace = answers.solution("fsdp04")
    return tuple(namespace[n] for n in ("save_checkpoint", "latest_complete", "load_shards"))


@pytest.fixture(autouse=True)
def unlimited(monkeypatch):
    """Give all launches of a test as much time as they take."""
    monkeypatch.setattr("grader.check.BUDGET_S", 850.0)


def survive(functions, world_size, choose_points, num_first=NUM_KILLS):
    """Kill a save at points of it, and recover from each; return how many there were.

    Also the very first save is killed, at `num_first` of its points.
    """
    save_checkpoint, latest_complete, _ = functions
    with (
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
        Check("checkpoint", "", save_checkpoint, latest_complete) as check,
    ):
        saving = Saving(check, save_checkpoint, Path(path), world_size, truths())
        _, changes = saving.prepare()
        points = choose_points(kill_points(changes))
        scenarios = [saving.kill(point, number) for number, point in enumerate(points)]
        recover(check, functions, scenarios, saving.truths)
        first = choose(points, num_first, seed=1)
        scenarios = [saving.kill_first(point, number) for number, point in enumerate(first)]
        recover(check, functions, scenarios, saving.truths)
    return len(points)


def test_nothing_is_left_of_a_save_that_was_killed(functions, tmp_path, monkeypatch):
    sandbox.launch(abs, -1, world_size=1)  # the warm process keeps a folder as long as it lives
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    survive(functions, 1, lambda points: points[20:21], num_first=1)
    assert [path for path in tmp_path.iterdir() if path.name.startswith("shardlab")] == []


@pytest.mark.slow
def test_the_solution_survives_a_kill_at_each_of_more_than_200_points(functions):
    counts = [survive(functions, world_size, lambda points: points) for world_size in WORLD_SIZES]
    assert sum(counts) >= 200


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(NUM_SEEDS))
def test_the_solution_survives_twenty_kills_of_any_seed(functions, seed):
    assert survive(functions, 2, lambda points: choose(points, NUM_KILLS, seed)) == NUM_KILLS
