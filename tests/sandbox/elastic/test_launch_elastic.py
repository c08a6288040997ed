"""launch_elastic: what ends a generation, and with how many ranks the next one starts."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox import Collective, FileChange, Join, Kill, Lose, Step


def count_up(path: Path, end: int) -> list[int]:
    """Count in a file from where the last generation came to; return what this one has counted."""
    start = int(path.read_text()) if path.exists() else 0
    counted = []
    for number in range(start, end):
        together = torch.ones(1)
        dist.all_reduce(together)
        if dist.get_rank() == 0:
            new = path.with_suffix(".new")
            new.write_text(str(number + 1))
            new.replace(path)
        counted.append(number)
        dist.barrier()
    return counted


def tell_identity() -> tuple[int, ...]:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    names += ("TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS")
    dist.barrier()
    return (sandbox.generation(), *(int(os.environ[name]) for name in names))


def sizes(run: sandbox.ElasticRun) -> list[int]:
    return [each.world_size for each in run.generations]


def ends(run: sandbox.ElasticRun) -> list[str]:
    return [str(each.ended) for each in run.generations]


def test_without_a_fault_there_is_one_generation_of_the_maximum() -> None:
    run = sandbox.launch_elastic(tell_identity, world_size=(1, 3), max_restarts=2)
    assert run.results == [(0, rank, 3, rank, 3, 0, 2) for rank in range(3)]
    assert (sizes(run), ends(run)) == ([3], ["finished"])
    assert run.generations[0].error is None
    assert run.generations[0].run.results == run.results


def test_a_kill_restarts_all_with_the_same_size(tmp_path: Path) -> None:
    run = sandbox.launch_elastic(
        count_up, tmp_path / "count", 5, world_size=(2, 3), faults=[Kill(2, Collective(5))]
    )
    assert (sizes(run), ends(run)) == ([3, 3], ["failed", "finished"])
    assert isinstance(run.generations[0].error, sandbox.RankDiedError)
    assert run.generations[0].error.rank == 2
    assert run.results == [[2, 3, 4]] * 3  # two of five were counted


def test_losses_shrink_to_the_minimum_and_joins_grow_up_to_the_maximum() -> None:
    faults = {
        0: [Lose(0, Collective(1))],
        1: [Lose(2, Collective(1))],
        2: [Join(1, Collective(1))],
        3: [Join(5, Collective(1))],
        4: [Kill(3, Collective(1))],
    }
    run = sandbox.launch_elastic(tell_identity, world_size=(2, 4), max_restarts=3, faults=faults)
    assert sizes(run) == [4, 3, 2, 3, 4, 4]
    assert ends(run) == ["failed", "failed", "resized", "resized", "failed", "finished"]
    # As torchrun counts: failures, not changes of membership.
    assert [each.restart_count for each in run.generations] == [0, 1, 2, 2, 2, 3]
    assert run.results == [(5, rank, 4, rank, 4, 3, 3) for rank in range(4)]
    starts = [each.start_s for each in run.generations]
    assert starts == sorted(starts)
    assert run.generations[-1].end_s <= run.duration_s


def test_two_ranks_lost_at_one_step_are_two_places_less() -> None:
    def step_twice() -> int:
        parameter = torch.nn.Parameter(torch.ones(1))
        parameter.grad = torch.ones(1)
        optimizer = torch.optim.SGD([parameter])
        for _ in range(2):
            optimizer.step()
            dist.barrier()
        return sandbox.generation()

    faults = [Lose(0, Step(2)), Lose(3, Step(2))]
    run = sandbox.launch_elastic(step_twice, world_size=(2, 4), faults=faults)
    assert (sizes(run), run.results) == ([4, 2], [1, 1])


def test_an_exception_a_mismatch_and_a_death_each_use_up_a_restart() -> None:
    def fail_in_many_ways() -> int:
        rank, generation = dist.get_rank(), sandbox.generation()
        if generation == 0 and rank == 1:
            raise ValueError("boom")
        if generation == 1:
            dist.all_reduce(torch.ones(1 + rank))
        if generation == 2 and rank == 0:
            os.kill(os.getpid(), signal.SIGSEGV)
        dist.barrier()
        return generation

    run = sandbox.launch_elastic(fail_in_many_ways, world_size=3)
    kinds = [type(each.error).__name__ for each in run.generations[:-1]]
    assert kinds == ["RankError", "CollectiveMismatchError", "RankDiedError"]
    assert (sizes(run), run.results) == ([3] * 4, [3] * 3)


def test_a_hang_in_a_later_generation_is_proven() -> None:
    def hang_in_the_second() -> int:
        if sandbox.generation() == 0:
            raise ValueError("boom")
        if sandbox.generation() == 1 and dist.get_rank() == 1:
            return 0
        dist.barrier()
        return 1

    run = sandbox.launch_elastic(hang_in_the_second, world_size=3)
    assert isinstance(run.generations[1].error, sandbox.DeadlockError)
    assert run.generations[1].error.rank == 1
    assert run.results == [1] * 3


def test_one_rank_is_a_world(tmp_path: Path) -> None:
    faults = {0: [Kill(0, FileChange(2))], 1: [Kill(0, Collective(3))]}
    run = sandbox.launch_elastic(count_up, tmp_path / "count", 3, world_size=1, faults=faults)
    assert (sizes(run), ends(run)) == ([1, 1, 1], ["failed", "failed", "finished"])
    assert run.results == [[1, 2]]


def test_ranks_are_new_processes_of_one_run_id() -> None:
    def identify() -> tuple[int, str]:
        if sandbox.generation() < 2:
            raise RuntimeError(f"{os.getpid()} {os.environ['TORCHELASTIC_RUN_ID']}")
        return os.getpid(), os.environ["TORCHELASTIC_RUN_ID"]

    runs = [sandbox.launch_elastic(identify, world_size=1) for _ in range(2)]
    found = []
    for run in runs:
        found += [str(each.error.exc_message).split() for each in run.generations[:-1]]
        found += [[str(value) for value in run.results[0]]]
    assert len({pid for pid, _ in found}) == 6
    assert len({run_id for _, run_id in found[:3]}) == 1
    assert len({run_id for _, run_id in found}) == 2


def test_a_join_at_full_size_changes_nothing_and_is_named(capsys: pytest.CaptureFixture) -> None:
    join = Join(1, Collective(1))
    run = sandbox.launch_elastic(tell_identity, world_size=(1, 2), faults=[join])
    assert sizes(run) == [2]
    assert capsys.readouterr().out == f"Did not happen in generation 0: {join!r}.\n"


def test_faults_that_did_not_happen_are_named_with_their_generation(
    capsys: pytest.CaptureFixture,
) -> None:
    faults = {
        0: [Kill(0, Collective(1)), Kill(1, Step(1))],
        1: [Lose(2, Collective(1))],
        # There is no rank 2.
        2: [Kill(2, Collective(1)), Kill(0, Step(9)), sandbox.Slow(0, 1.5)],
        5: [Kill(0, Collective(1))],
    }
    sandbox.launch_elastic(tell_identity, world_size=(2, 3), faults=faults)
    assert capsys.readouterr().out.splitlines() == [
        "Did not happen in generation 0: Kill(rank=1, at=Step(1)).",
        "Did not happen in generation 2: Kill(rank=2, at=Collective(1)), Kill(rank=0, at=Step(9)).",
        "Did not happen in generation 5: Kill(rank=0, at=Collective(1)).",
    ]


def test_a_plain_launch_is_generation_0_and_takes_a_loss_for_a_kill() -> None:
    assert sandbox.launch(sandbox.generation, world_size=2).results == [0, 0]
    assert sandbox.generation() == 0
    with pytest.raises(sandbox.RankDiedError, match="Injected: Lose") as error:
        sandbox.launch(dist.barrier, world_size=2, faults=[Lose(1, Collective(1))])
    assert "out of memory" not in error.value.message


def test_it_says_in_a_line_what_happened() -> None:
    faults = {0: [Lose(1, Collective(1))], 1: [Join(1, Collective(1))]}
    run = sandbox.launch_elastic(tell_identity, world_size=(1, 2), faults=faults)
    start = "ElasticRun(2 → 1 → 2 ranks, 3 generations, 1 failed, 1 resized, "
    assert repr(run).startswith(start)
    assert list(map(repr, run.generations)) == [
        "Generation 0 (2 ranks) failed: rank 1 was killed by SIGKILL before the call was over",
        "Generation 1 (1 rank) resized: Join(num_ranks=1, at=Collective(1))",
        "Generation 2 (2 ranks) finished",
    ]
