"""Memory over time: the peak is labelled, layers add up, what was not observed is said."""

from __future__ import annotations

import dataclasses
import re

import pytest
from drawing import colours, elements, make_event, parse, texts, titles

from sandbox.ledger import Ledger
from sandbox.memory.category import Category, Phase
from sandbox.memory.history import Memory
from sandbox.memory.sample import Sample
from sandbox.pictures import palette
from sandbox.pictures.memory_chart import AREA_PX, MAX_POINTS, draw_memory
from sandbox.pictures.run_picture import draw_run
from sandbox.pictures.spans import Window
from sandbox.run import Run


def make_sample(
    rank: int, time_s: float, phase: str, held: dict, site: str | None = None
) -> Sample:
    every = dict.fromkeys(Category, 0) | {Category(c): n for c, n in held.items()}
    return Sample(rank, time_s, 0, Phase(phase), True, every, site or None)


SAMPLES = (
    make_sample(0, 0.1, "init", {"parameters": 1_000, "buffers": None}),
    make_sample(0, 0.2, "forward", {"parameters": 1_000, "activations": 3_000}),
    make_sample(0, 0.3, "step", {"parameters": 1_000, "optimizer": 2_000}),
    make_sample(1, 0.1, "init", {"parameters": 900}),
)
PEAK = make_sample(
    0, 0.25, "backward", {"parameters": 1_000, "activations": 5_000}, "/x/train.py:7"
)


def test_the_peak_is_named_with_its_phase_and_line_though_it_is_no_sample() -> None:
    picture = draw_memory(Memory(SAMPLES, [PEAK]), 2)
    assert "Rank 0 holds most, 6.00 kB in backward at " in picture.sentence
    assert picture.sentence.endswith("train.py, line 7: activations 5.00 kB, parameters 1.00 kB.")
    root = parse(picture)
    assert any(text.startswith("peak 6.00 kB in backward at") for text in texts(root))
    assert "6,000 bytes" in titles(root)


def test_layers_are_stacked_to_the_height_of_their_sum() -> None:
    root = parse(draw_memory(Memory(SAMPLES, [PEAK]), 2))
    paths = {title.text: path.attrib["d"] for path in elements(root, "path") for title in path}
    top = paths["rank 0: activations, 0 to 5,000 bytes"]
    under = paths["rank 0: parameters, 1,000 to 1,000 bytes"]
    assert min(heights_of(top)) == 0.0  # the peak fills the row
    assert min(heights_of(under)) == round(AREA_PX * (1 - 1_000 / 6_000), 1)


def heights_of(path: str) -> list[float]:
    return [float(y) for y in re.findall(r"L[\d.]+ ([\d.]+)", path)]


def test_what_was_not_observed_is_said_and_no_category_is_drawn_for_it() -> None:
    root = parse(draw_memory(Memory(SAMPLES), 2))
    assert sum("Not observed: what an operator needs" in text for text in texts(root)) == 1
    (note,) = draw_memory(Memory(SAMPLES), 2).notes
    assert all(text in note for text in Memory(SAMPLES).not_observed)
    assert note.count("Not observed") == 1
    assert "buffers" not in texts(root)
    assert colours(root) <= {*palette.MEMORY.values(), "#000", "#fff"}


def test_a_rank_without_samples_keeps_its_row() -> None:
    root = parse(draw_memory(Memory(SAMPLES), 3))
    assert [text for text in texts(root) if text.startswith("rank ")] == [
        "rank 0",
        "rank 1",
        "rank 2",
    ]
    assert "no samples" in texts(root)


def test_of_many_samples_the_highest_stay() -> None:
    many = [make_sample(0, n * 1e-4, "forward", {"other": n % 977}) for n in range(10_000)]
    picture = draw_memory(Memory(many), 1)
    assert picture.sentence.startswith("Rank 0 holds at most 976 B")
    path = elements(parse(picture), "path")[1].attrib["d"]
    assert path.count("L") <= 2 * MAX_POINTS + 4


def test_a_run_that_tracked_no_memory_draws_the_rest() -> None:
    run = Run(2, [None, None], Ledger([make_event(0, 0.0, 0.1)]), ["", ""], 1.0)
    assert len(draw_run(run)) == 2
    tracked = dataclasses.replace(run, tracked_memory=Memory(SAMPLES))
    assert len(draw_run(tracked)) == 3
    assert draw_memory(Memory([]), 1).sentence == "No memory samples here."


def test_who_holds_most_is_told_of_all_some_or_one() -> None:
    def tell(*held: dict) -> str:
        samples = [make_sample(rank, 0.1, "step", parts) for rank, parts in enumerate(held)]
        return draw_memory(Memory(samples), len(held)).sentence

    half, other_half = {"parameters": 2, "gradients": 6}, {"parameters": 6, "gradients": 2}
    same = "All ranks hold the same: at most 8 B in step (gradients 6 B, parameters 2 B)."
    assert tell(half, half, half) == same
    assert tell(half, half, {}).startswith("Ranks 0, 1 hold most, each 8 B in step: gradients")
    assert tell(half, other_half).startswith("Rank 0 holds most, 8 B in step: gradients 6 B")
    assert tell({}, half).startswith("Rank 1 holds most, 8 B in step")
    assert tell(half).startswith("Rank 0 holds at most 8 B in step")


def test_a_high_and_long_layer_bears_its_name() -> None:
    held = [{"parameters": 50, "activations": n} for n in (0, 50, 40, 0)]
    samples = [make_sample(0, n / 10, "forward", parts) for n, parts in enumerate(held)]
    root = parse(draw_memory(Memory(samples), 1, None, Window(0.0, 0.4)))
    assert texts(root).count("parameters") == texts(root).count("activations") == 2  # and the key
    short = parse(draw_memory(Memory(samples), 1, None, Window(0.0, 4.0)))
    assert texts(short).count("activations") == 1


def test_timeline_and_memory_of_a_run_have_one_time_axis() -> None:
    ledger = Ledger([make_event(0, 0.25, 0.35), make_event(1, 0.3, 0.9)])
    run = Run(2, [None, None], ledger, ["", ""], 1.0, tracked_memory=Memory(SAMPLES))
    timeline, _, memory = draw_run(run)
    assert "in 650 ms" in timeline.sentence  # from the first event to the last, whatever is drawn
    axes = [[text for text in texts(parse(p)) if text.endswith(" ms")] for p in (timeline, memory)]
    assert axes[0] == axes[1] == ["200 ms", "400 ms", "600 ms", "800 ms"]
    (event,) = [
        rect for rect in elements(parse(timeline), "rect") if "rank 0: coll" in hovered(rect)
    ]
    left = 0.15 + 0.84 * (0.25 - 0.1) / (0.9 - 0.1)
    assert float(event.attrib["x"].rstrip("%")) == pytest.approx(100 * left, abs=0.01)


def hovered(rect) -> str:
    return "".join(title.text or "" for title in rect)
