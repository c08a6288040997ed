"""What fsdp04 measures and tells of saves: stalls, resizes, attempts of a Ray run."""

import answers
import pytest
import torch

from grader.fsdp04 import ray_recovery, ray_reports, ray_trainer, resize_table, stall
from grader.fsdp04.resize_table import Going
from grader.fsdp04.stall_picture import Row, StallPicture
from grader.ray_kill import WorkerSteps

pytestmark = [pytest.mark.fsdp04, pytest.mark.timeout(120)]


def going(moment, weight):
    return Going({"w": torch.tensor([moment])}, {"w": torch.tensor([weight])})


def test_the_config_that_is_judged_is_the_notebooks():
    assert answers.solution("fsdp04")["CONFIG"] == ray_trainer.CONFIG


def test_the_steps_to_report_are_the_multiples_and_the_last():
    assert ray_reports.steps_to_report({"num_steps": 7, "save_every": 3}) == [3, 6, 7]
    assert ray_reports.steps_to_report({"num_steps": 6, "save_every": 3}) == [3, 6]


def test_the_table_tells_what_went_on_as_saved():
    saved = {"ZeRO-1": going(1.0, 2.0)}
    refused = "SomeError: for 4 ranks. And no other. "
    seen = {
        4: {"ZeRO-1": going(1.0, 2.0), "ZeRO-1, weights alone": going(0.0, 2.0)},
        2: {"ZeRO-1": refused, "ZeRO-1, weights alone": going(1.0, 2.5)},
    }
    seen[4]["ZeRO-1, universal"] = seen[2]["ZeRO-1, universal"] = going(1.0, 2.0)
    _, plain, weights, universal, _, error = resize_table.table(saved, seen).splitlines()
    assert plain.split() == ["ZeRO-1", "equal", "refused"]
    assert weights.split()[3:] == ["differs", "differs"]  # a moment, a weight
    assert universal.split()[2:] == ["equal", "equal"]
    assert error == "ZeRO-1: SomeError: for 4 ranks."


@pytest.mark.slow
def test_zero_alone_refuses_other_ranks_and_fsdp2_and_universal_do_not(capsys):
    names = ("new_state", "save_shards", "load_shards")
    resize_table.compare_resizes(*map(answers.solution("fsdp04").get, names))
    rows = {line[:23].strip(): line[23:].split() for line in capsys.readouterr().out.splitlines()}
    for name in ("FSDP2 + DCP", *(f"ZeRO-{stage}, universal" for stage in (1, 2, 3))):
        assert rows[name] == ["equal", "equal"], name
    for stage in (1, 2, 3):
        assert rows[f"ZeRO-{stage}"] == ["equal", "refused"]
    assert rows["ZeRO-1, weights alone"] == ["differs", "differs"]


@pytest.mark.slow
def test_both_ways_to_save_are_measured():
    names = ("new_state", "save_checkpoint", "save_async")
    picture = stall.compare_stalls(*map(answers.solution("fsdp04").get, names))
    at_once, meanwhile = picture.rows
    for row in picture.rows:
        assert (len(row.steps), len(row.stalls)) == (9, 3)
    assert (len(at_once.writings), len(meanwhile.writings)) == (0, 3)


def test_the_stall_is_the_time_without_steps():
    rows = [
        Row("save_checkpoint", [(0.0, 1.0), (3.0, 4.0)], [(1.0, 3.0)], []),
        Row("save_async", [(0.0, 1.0), (1.5, 2.5)], [(1.0, 1.5)], [(1.5, 4.5)]),
    ]
    picture = StallPicture(rows)
    said = "For 1 saves training stood still 2.00 s with save_checkpoint, 500 ms with save_async."
    assert repr(picture) == said
    drawn = picture._repr_mimebundle_()["image/svg+xml"]
    assert all(f"<title>{what}: 3.00 s" in drawn for what in ("writing",))


def test_attempts_are_told_with_the_steps_that_were_done_again():
    workers = [
        WorkerSteps(rank=0, world_size=2, started_s=1.0, num_steps=8, was_killed=False),
        WorkerSteps(rank=1, world_size=2, started_s=1.1, num_steps=8, was_killed=True),
        WorkerSteps(rank=0, world_size=1, started_s=9.0, num_steps=10, was_killed=False),
    ]
    assert ray_recovery.describe_attempts(workers, 16) == [
        "attempt 1 on 2 workers: steps 0 to 7",
        "  worker 1 was killed after step 7",
        "attempt 2 on 1 worker: steps 6 to 15; done again: 2",
    ]


def test_a_step_ends_when_the_gpu_has_taken_it(monkeypatch):
    done = []
    monkeypatch.setattr(stall.dist, "get_rank", lambda: 0)
    monkeypatch.setattr(stall, "take_step", lambda *_: done.append("started"))
    monkeypatch.setattr(stall.backend, "finish_work", lambda: done.append("finished"))
    stall._step(None)
    assert done == ["started", "finished"]
