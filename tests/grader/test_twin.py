"""Twin grading: the same check on two backends; any difference of ledgers and verdicts is told."""

import dataclasses
from contextlib import nullcontext

import answers
import fake_gpus
import pytest

from grader import reference, twin
from grader.__main__ import main
from sandbox import backend

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def side():
    """Return fsdp01's check of shard_model on gloo."""
    namespace = answers.solution("fsdp01")
    run = lambda: answers.run_check("fsdp01", "shard_model", namespace)  # noqa: E731
    return twin.observe(run, nullcontext())


def on_nccl(side, change=lambda traffic: traffic):
    """Return the side as if its launches had run on NCCL, with their traffic changed."""
    changed = [
        dataclasses.replace(launch, backend="nccl", traffic=change(dict(launch.traffic)))
        for launch in side.launches
    ]
    return dataclasses.replace(side, launches=tuple(changed))


def compare(gloo, nccl):
    report = twin.Report()
    twin.compare("shard_model", gloo, nccl, report)
    return report


def test_a_check_is_observed_with_every_launch_of_its_ranks(side):
    assert side.outcome == "passed"
    assert side.verdict.startswith("✓ passed: shard_model")
    assert [launch.world_size for launch in side.launches] == [2, 1, 2, 3, 4]
    assert {launch.backend for launch in side.launches} == {"gloo"}
    gathers = {rank: count for (rank, op, _), (count, _) in _traffic(side, 2) if op == "all_gather"}
    assert gathers.keys() == {0, 1}
    assert gathers[0] == gathers[1] > 0


def _traffic(side, number):
    return side.launches[number].traffic.items()


def test_equal_sides_have_no_difference(side):
    report = compare(side, on_nccl(side))
    assert report.lines == ["5 launches compared: no difference"]


def test_an_operation_issued_once_more_is_told_with_its_ranks_and_group(side):
    def add(traffic):
        for key, (count, nbytes) in traffic.items():
            if key[1:] == ("all_gather", (0, 1, 2)):
                traffic[key] = (count + 1, nbytes + 8)
        return traffic

    report = compare(side, on_nccl(side, add))
    (line,) = report.differences
    (_, (count, nbytes)) = next(
        entry for entry in _traffic(side, 3) if entry[0][:2] == (0, "all_gather")
    )
    assert line == (
        f"shard_model, launch 4 of 3 ranks: ranks 0-2: all_gather among ranks 0-2: {count} times, "
        f"{nbytes:,} bytes on gloo, {count + 1} times, {nbytes + 8:,} bytes on NCCL"
    )


def test_an_operation_on_one_side_alone_is_told(side):
    def move(traffic):
        return {(rank, op.replace("reduce_scatter", "all_reduce"), group): found
                for (rank, op, group), found in traffic.items()}  # fmt: skip

    lines = compare(side, on_nccl(side, move)).differences
    assert any("reduce_scatter" in line and "0 times, 0 bytes on NCCL" in line for line in lines)
    assert any("all_reduce" in line and "0 times, 0 bytes on gloo" in line for line in lines)


def test_other_verdicts_and_missing_launches_are_told(side):
    failed = dataclasses.replace(
        on_nccl(side), outcome="failed with GRADS_NOT_SYNCED", verdict="✗ failed: …\n"
    )
    failed = dataclasses.replace(failed, launches=failed.launches[:2])
    verdict, counts = compare(side, failed).differences
    assert verdict.startswith(
        "shard_model: passed on gloo, failed with GRADS_NOT_SYNCED on NCCL\n✓"
    )
    assert verdict.endswith("✗ failed: …")
    assert counts == "shard_model: 5 launches on gloo, 2 on NCCL"


def test_a_mistake_and_a_dead_rank_are_outcomes_as_well(tmp_path):
    def outcome(path):
        namespace = answers.solution("fsdp01", path)
        run = lambda: answers.run_check("fsdp01", "shard_model", namespace)  # noqa: E731
        return twin.observe(run, nullcontext())

    mutant = next(p for p in answers.overlays("mutants", "fsdp01") if p.stem == "root_only")
    found = outcome(mutant)
    assert found.outcome.startswith("failed with ")
    assert len(found.launches) >= 1
    (tmp_path / "exits.py").write_text(
        "def shard_model(model, mesh):\n    import os\n    os._exit(3)"
    )
    found = outcome(tmp_path / "exits.py")
    assert found.outcome.startswith("failed with ")
    assert len(found.launches) == 1  # of a launch that raised, what was recorded until then


def test_a_whole_exercise_runs_on_both_sides_as_far_as_the_gpus_go(monkeypatch):
    """Of the launches, five are of shard_model, one of them of 4 ranks, and one of rows_of_rank."""
    fake_gpus.pretend(monkeypatch, num_gpus=3)
    monkeypatch.setattr(reference, "check_names", lambda _: ["shard_model", "rows_of_rank"])
    report = twin.compare_exercise("fsdp01")
    assert report.lines == ["5 launches compared; 1 need more GPUs: no difference"]


def test_without_a_gpu_one_line_says_so(capsys, monkeypatch):
    monkeypatch.setattr(backend, "has_nvidia_driver", lambda: False)
    assert main(["twin", "fsdp01"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "twin grading needs a GPU, and there is none" in line
