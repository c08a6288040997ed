"""Generations over time: every size, every end and every dead rank is seen, and said in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from drawing import elements, parse, texts, titles

from sandbox.elastic.elastic_run import ElasticRun, Ended, Generation
from sandbox.errors import RankDiedError, RankError
from sandbox.faults.fault import Fault
from sandbox.faults.injected import Injected
from sandbox.faults.join import Join
from sandbox.faults.kill import Kill
from sandbox.faults.lose import Lose
from sandbox.faults.moment import Step
from sandbox.ledger import Ledger
from sandbox.pictures import after_error
from sandbox.pictures.elastic_picture import draw_elastic
from sandbox.pictures.picture import HTML, PLAIN, SVG
from sandbox.run import Run

JOIN, LOSE, KILL = Join(1, Step(3)), Lose(2, Step(4)), Kill(1, Step(2))


def make_generation(
    number: int, world_size: int, ended: Ended, fault: Fault | None = None, rank: int = 0
) -> Generation:
    faults = (Injected(fault, rank, 0.8),) if fault else ()
    run = Run(
        world_size=world_size,
        results=[None] * world_size,
        ledger=Ledger([]),
        output=[""] * world_size,
        duration_s=1.0,
        steps=[[(1, 0.2), (2, 0.5)]] * world_size,
        faults=faults,
    )
    error = None
    if ended is Ended.FAILED:
        error = RankDiedError(f"rank {rank} was killed by SIGKILL.\nmore", rank=rank, run=run)
    return Generation(number, world_size, 0, ended, error, run, start_s=1.5 * number)


RUN = ElasticRun(
    (
        make_generation(0, 3, Ended.FAILED, LOSE, rank=2),
        make_generation(1, 2, Ended.RESIZED, JOIN),
        make_generation(2, 3, Ended.FINISHED),
    ),
    4.0,
)


def test_the_sentence_says_how_often_it_started_and_why() -> None:
    assert draw_elastic(RUN).sentence == (
        "Started 3 times, on 3 → 2 → 3 ranks, until it finished. What ended a generation: "
        "Lose(rank=2, at=Step(4)); Join(num_ranks=1, at=Step(3))."
    )
    assert draw_elastic(ElasticRun((RUN.generations[2],), 1.0)).sentence == (
        "One generation of 3 ranks, which finished."
    )


def test_what_happens_again_and_again_is_said_once() -> None:
    failed = [make_generation(n, 2, Ended.FAILED, KILL, rank=1) for n in range(12)]
    run = ElasticRun(tuple(failed), 20.0)
    assert draw_elastic(run).sentence == (
        "Started 12 times, on 2 ranks, and gave up. What ended a generation: "
        "Kill(rank=1, at=Step(2)) (12 times)."
    )
    many = [make_generation(n, 2 + n % 2, Ended.FAILED, Kill(1, Step(n + 1))) for n in range(12)]
    sentence = draw_elastic(ElasticRun(tuple(many), 20.0)).sentence
    assert "on 2 → 3 → 2 → 3 → 2 → 3 → 2 → 3 → … → 3 ranks" in sentence
    assert sentence.endswith("Kill(rank=1, at=Step(5)); 7 more.")


def test_every_generation_has_its_number_size_and_end_above_it() -> None:
    words = texts(parse(draw_elastic(RUN)))
    for heading in ("generation", "ranks", "ended", "rank 0", "rank 1", "rank 2"):
        assert words.count(heading) == 1
    assert [word for word in words if word in "012"] == ["0", "1", "2"]
    assert [word for word in words if word in ("3 ranks", "2 ranks")] == [
        "3 ranks",
        "2 ranks",
        "3 ranks",
    ]
    assert [word for word in words if word[0] in "✗+✓"] == ["✗ failed", "+ resized", "✓ finished"]


def test_a_rank_that_died_ends_there_and_the_others_are_stopped_later() -> None:
    root = parse(draw_elastic(RUN))
    ends = [title for title in titles(root) if title.startswith("rank") and " at " in title]
    assert ends[:3] == [
        "rank 0 of generation 0 was stopped at 1.00 s",
        "rank 1 of generation 0 was stopped at 1.00 s",
        "rank 2 of generation 0 failed at 800 ms",
    ]
    assert sum("of generation 1 was stopped" in title for title in ends) == 2  # there is no third
    assert sum("of generation 2 finished at 4.00 s" in title for title in ends) == 3
    assert {"Lose ✗", "Join +"} <= set(texts(root))
    assert any("injected: Lose(rank=2, at=Step(4))" in title for title in titles(root))


def test_steps_are_lines_and_a_note_says_so() -> None:
    picture = draw_elastic(RUN)
    lines = [title for title in titles(parse(picture)) if "step" in title]
    assert len(lines) == 2 * (3 + 2 + 3)
    assert "rank 1 of generation 1: step 2 ends" in lines
    assert picture.notes == ["A line in a rank's row is the end of an optimizer step."]


def test_many_short_generations_keep_their_symbols_and_are_bounded() -> None:
    generations = [make_generation(n, 4, Ended.FAILED, KILL, rank=1) for n in range(40)]
    root = parse(draw_elastic(ElasticRun(tuple(generations), 60.0)))
    assert texts(root).count("✗") == 80  # one above each, and one in its row: no room for words
    assert len(elements(root, "line")) < 4 * 2 * 400  # none closer than two pixels


@pytest.mark.parametrize("rank", [0, 2])
def test_an_exception_is_named_where_it_was_raised(rank: int) -> None:
    generation = make_generation(0, 3, Ended.FAILED)
    error = RankError(
        "rank raised ValueError: boom",
        rank=rank,
        site=None,
        run=generation.run,
        exc_type="ValueError",
        exc_message="boom",
        traceback_text="",
    )
    failed = Generation(0, 3, 0, Ended.FAILED, error, generation.run, 0.0)
    root = parse(draw_elastic(ElasticRun((failed,), 1.0)))
    (mark,) = [each for each in elements(root, "text") if each.text == "ValueError ✗"]
    label = next(each for each in elements(root, "text") if each.text == f"rank {rank}")
    assert mark.attrib["y"] == label.attrib["y"]


def test_a_notebook_stores_a_page_an_image_and_the_line() -> None:
    stored = RUN._repr_mimebundle_()
    assert set(stored) == {HTML, SVG, PLAIN}
    assert (
        stored[PLAIN]
        == repr(RUN)
        == ("ElasticRun(3 → 2 → 3 ranks, 3 generations, 1 failed, 1 resized, 4 s)")
    )


def test_a_cell_in_which_it_gave_up_shows_the_generations(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr(after_error, "is_live", lambda: True)
    error = RUN.generations[0].error
    assert error is not None
    after_error.show(SimpleNamespace(error_in_exec=error))
    assert not shown  # of a plain launch
    monkeypatch.setattr(error, "elastic", RUN)
    after_error.show(SimpleNamespace(error_in_exec=error))
    assert [repr(picture) for picture in shown] == [draw_elastic(RUN).sentence]
