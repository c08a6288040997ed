"""Faults in a run's pictures: a pause is no computing, other faults have a mark, all are said."""

from __future__ import annotations

from drawing import elements, make_event, parse, texts, titles

from sandbox import Kill, Pause, SlowLink, Step
from sandbox.faults.injected import Injected
from sandbox.ledger import Ledger
from sandbox.pictures.timeline import draw_timeline
from sandbox.pictures.view import View

EVENTS = [make_event(0, 0.0, 0.4), make_event(1, 0.3, 0.4), make_event(0, 0.9, 1.0)]
PAUSE = Injected(Pause(rank=1, at=Step(2), for_s=0.4), 1, 0.5, 0.9)


def draw(*faults: Injected, view: View | None = None):
    return draw_timeline(Ledger(EVENTS), 2, (), view, faults=faults)


def test_a_pause_is_drawn_over_computing_with_a_key_and_what_was_injected() -> None:
    picture = draw(PAUSE)
    root = parse(picture)
    assert picture.sentence.endswith(f"Injected: {PAUSE.fault!r}.")
    title = f"rank 1: paused 400 ms, from 500 ms\ninjected: {PAUSE.fault!r}"
    (box,) = [rect for rect in elements(root, "rect") for each in rect if each.text == title]
    assert box.attrib["width"] == "33.6%"  # 0.4 of the 84 % between LEFT and RIGHT
    assert texts(root).count("paused") == 2  # in the key, and on the pause itself
    assert "paused" not in texts(parse(draw()))


def test_a_pause_of_which_no_end_was_seen_lasts_to_the_end() -> None:
    shown = titles(parse(draw(Injected(PAUSE.fault, 1, 0.5))))
    assert any(title.startswith("rank 1: paused from 500 ms; its end was not") for title in shown)


def test_a_kill_is_marked_where_it_happened_even_after_the_last_event() -> None:
    kill = Injected(Kill(rank=0, at=Step(3)), 0, 2.0)
    root = parse(draw(kill))
    assert "Kill ✗" in texts(root)  # at the right edge
    assert "✗ Kill" in texts(parse(draw(Injected(kill.fault, 0, 0.5))))
    assert f"rank 0: Kill at 2.00 s\ninjected: {kill.fault!r}" in titles(root)


def test_what_slows_throughout_is_said_and_not_marked() -> None:
    slow = Injected(SlowLink(1e6), None)
    picture = draw(slow)
    assert picture.sentence.endswith(f"Injected: {slow.fault!r}.")
    assert not any("✗" in text for text in texts(parse(picture)))


def test_of_a_chosen_rank_only_its_own_faults_are_told() -> None:
    assert "Injected" not in draw(PAUSE, view=View(rank=0)).sentence
    assert "Injected" in draw(PAUSE, view=View(rank=1)).sentence


def test_what_flies_during_a_pause_overlaps_no_computing() -> None:
    flight = make_event(1, 0.4, 0.9, is_async=True)
    whole = draw_timeline(Ledger([flight]), 2).sentence
    assert "100 % of the asynchronous time overlaps computing." in whole
    paused = draw_timeline(Ledger([flight]), 2, faults=[PAUSE]).sentence
    assert "20 % of the asynchronous time overlaps computing." in paused
