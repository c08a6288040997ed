"""Faults are checked before anything starts, and one that never happened is named."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch.distributed as dist

import sandbox
from sandbox import (
    Collective,
    DiskFull,
    FileChange,
    Kill,
    Pause,
    Save,
    Slow,
    SlowLink,
    Step,
    TornWrite,
)
from sandbox.ranks import warm


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Step(0), r"Step\(0\): expected a whole number from 1"),
        (lambda: Collective(-1), r"Collective\(-1\)"),
        (lambda: Save(1.5), r"Save\(1.5\)"),
        (lambda: Step(True), r"Step\(True\)"),
        (lambda: Kill(rank=-1, at=Step(1)), "Kill: rank is -1"),
        (lambda: Kill(rank="2", at=Step(1)), "Kill: rank is '2'"),
        (lambda: FileChange(0), r"FileChange\(0\): expected a whole number from 1"),
        (
            lambda: Kill(rank=0, at=3),
            r"at is 3, expected Step\(n\), Collective\(n\), Save\(n\) or FileChange\(n\)",
        ),
        (lambda: Kill(rank=0, at=None), "at is None"),
        (lambda: Pause(0, Step(1), for_s=0), "for_s is 0, expected a number above 0"),
        (lambda: Pause(0, Step(1), for_s=float("inf")), "for_s is inf"),
        (lambda: Slow(0, factor=0.5), "factor is 0.5, expected a number from 1"),
        (lambda: SlowLink(bandwidth=0), "bandwidth is 0, expected a number above 0"),
        (lambda: SlowLink(1e6, latency=-1), "latency is -1"),
        (lambda: SlowLink(1e6, between=(1,)), "expected two ranks or more"),
        (lambda: SlowLink(1e6, between=(1, -2)), "SlowLink: rank is -2"),
        (lambda: SlowLink("fast"), "bandwidth is 'fast'"),
        (lambda: TornWrite("", rank=0), "path is '', expected a pattern"),
        (lambda: TornWrite("*", rank=0, kept=1), "expected a share below 1"),
        (lambda: TornWrite("*", rank=0, kept=-0.1), "kept is -0.1"),
        (lambda: TornWrite("*", rank=0, at="save"), "at is 'save'"),
        (lambda: DiskFull(".", after_bytes=-1), "after_bytes is -1"),
        (lambda: DiskFull(".", after_bytes=1.0), "after_bytes is 1.0"),
        (lambda: DiskFull("no/such/folder", 1), "'no/such/folder', expected a folder"),
        (lambda: DiskFull(3, 1), "path is 3"),
        (lambda: DiskFull(__file__, 1), "expected a folder"),
        (lambda: DiskFull(".", 1, rank=-1), "DiskFull: rank is -1"),
    ],
)
def test_a_bad_fault_is_refused_in_one_line_where_it_is_written(make, words: str) -> None:
    with pytest.raises(sandbox.LaunchError, match=words) as error:
        make()
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ([Kill(rank=3, at=Step(1))], r"Kill\(rank=3, at=Step\(1\)\) names rank 3, but world_size"),
        ([SlowLink(1e6, between=(0, 5))], "names rank 5"),
        ([DiskFull(".", 1, rank=7)], "names rank 7"),
        (Kill(rank=0, at=Step(1)), "expected a list"),
        (["kill"], "faults holds 'kill'"),
        ("kill", "faults is 'kill', expected a list"),
    ],
)
def test_what_does_not_fit_the_world_is_refused_before_anything_starts(
    faults, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "get", lambda _: pytest.fail("something was started"))
    with pytest.raises(sandbox.LaunchError, match=words) as error:
        sandbox.launch(print, world_size=3, faults=faults)
    assert "\n" not in error.value.message
    world = sandbox.World(3)
    with pytest.raises(sandbox.LaunchError, match=words):
        world.run(print, faults=faults)


def test_slow_links_are_refused_where_nobody_waits_in_python() -> None:
    from sandbox.faults.fault import check_faults

    with pytest.raises(sandbox.LaunchError, match="backend='gloo' alone, not with 'nccl'"):
        check_faults([SlowLink(1e6)], 2, "nccl")


def test_faults_are_plain_data() -> None:
    faults = [Kill(2, Step(3)), SlowLink(1e6, 0.1, (0, 1)), DiskFull(Path("."), 1), Slow(0, 2)]
    assert pickle.loads(pickle.dumps(faults)) == faults
    assert repr(faults[0]) == "Kill(rank=2, at=Step(3))"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (SlowLink(bandwidth=1_000_000.0), "SlowLink(bandwidth=1e6)"),
        (SlowLink(2.5e9, 0.1, (0, 1)), "SlowLink(bandwidth=2.5e9, latency=0.1, between=(0, 1))"),
        (SlowLink(1234567.0), "SlowLink(bandwidth=1234567.0)"),
        (SlowLink(100), "SlowLink(bandwidth=100)"),
        (DiskFull("/x", 1_000_000), "DiskFull(path='/x', after_bytes=1000000)"),  # no 1e6: a float
        (DiskFull("/x", 0, rank=0), "DiskFull(path='/x', after_bytes=0, rank=0)"),
    ],
)
def test_a_fault_is_shown_as_one_writes_it_without_defaults(fault, words: str) -> None:
    assert repr(fault) == words
    assert eval(words) == fault


def test_a_fault_whose_moment_never_comes_is_named_and_changes_nothing(
    capsys: pytest.CaptureFixture, tmp_path: Path
) -> None:
    faults = [
        Kill(1, Collective(3)),
        Kill(0, Step(1)),
        Kill(0, Save(1)),
        TornWrite("*.pt", rank=1),
        DiskFull(tmp_path, 10),
        Slow(0, 1.5),
    ]

    def two_barriers() -> int:
        dist.barrier()
        dist.barrier()
        return dist.get_rank()

    run = sandbox.launch(two_barriers, world_size=2, faults=faults)
    assert run.results == [0, 1]
    listed = ", ".join(repr(fault) for fault in faults[:-1])  # Slow has no moment
    assert capsys.readouterr().out == f"Did not happen: {listed}.\n"


def test_a_timeout_names_what_slows_the_ranks_though_it_has_no_moment() -> None:
    def reduce_much() -> None:
        import torch

        dist.all_reduce(torch.ones(100_000))

    faults = [SlowLink(bandwidth=1e3), Slow(1, factor=1.5)]
    with pytest.raises(sandbox.RankTimeoutError) as error:
        sandbox.launch(reduce_much, world_size=2, timeout_s=2, faults=faults)
    assert f"Injected: {faults[0]!r}, {faults[1]!r}." in error.value.message
    run = error.value.run
    assert [(each.fault, each.rank) for each in run.faults] == [(faults[0], None), (faults[1], 1)]
    assert f"Injected: {faults[0]!r}, {faults[1]!r}." in run._repr_mimebundle_()["image/svg+xml"]
