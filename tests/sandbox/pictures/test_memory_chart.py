"""Memory over time: the peak is labelled, layers add up, what was not observed is said."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace

from drawing import colours, elements, make_event, parse, texts, titles

from sandbox.ledger import Ledger
from sandbox.pictures import palette
from sandbox.pictures.memory_chart import AREA_PX, MAX_POINTS, draw_memory, total
from sandbox.pictures.run_picture import draw_run


@dataclass(frozen=True)
class Sample:
    rank: int
    time_s: float
    phase: str
    bytes: dict
    site: str | None = None


def make_memory(*samples: Sample, peaks: tuple[Sample, ...] = ()):
    def peak(rank: int) -> Sample:
        return max((s for s in (*samples, *peaks) if s.rank == rank), key=total)

    return SimpleNamespace(samples=samples, not_observed=("what <C++> hides",), peak=peak)


SAMPLES = (
    Sample(0, 0.1, "init", {"parameters": 1_000, "buffers": None}),
    Sample(0, 0.2, "forward", {"parameters": 1_000, "activations": 3_000}),
    Sample(0, 0.3, "step", {"parameters": 1_000, "optimizer": 2_000}),
    Sample(1, 0.1, "init", {"parameters": 900}),
)
PEAK = Sample(0, 0.25, "backward", {"parameters": 1_000, "activations": 5_000}, "/x/train.py:7")


def test_the_peak_is_named_with_its_phase_and_line_though_it_is_no_sample() -> None:
    picture = draw_memory(make_memory(*SAMPLES, peaks=(PEAK,)), 2)
    assert "Rank 0 holds most, 6.00 kB in backward at " in picture.sentence
    assert picture.sentence.endswith("train.py, line 7: activations 5.00 kB, parameters 1.00 kB.")
    root = parse(picture)
    assert any(text.startswith("peak 6.00 kB in backward at") for text in texts(root))
    assert "6,000 bytes" in titles(root)


def test_layers_are_stacked_to_the_height_of_their_sum() -> None:
    root = parse(draw_memory(make_memory(*SAMPLES, peaks=(PEAK,)), 2))
    paths = {title.text: path.attrib["d"] for path in elements(root, "path") for title in path}
    top = paths["rank 0: activations, 0 to 5,000 bytes"]
    under = paths["rank 0: parameters, 1,000 to 1,000 bytes"]
    assert min(heights_of(top)) == 0.0  # the peak fills the row
    assert min(heights_of(under)) == round(AREA_PX * (1 - 1_000 / 6_000), 1)


def heights_of(path: str) -> list[float]:
    return [float(y) for y in re.findall(r"L[\d.]+ ([\d.]+)", path)]


def test_what_was_not_observed_is_said_and_no_category_is_drawn_for_it() -> None:
    root = parse(draw_memory(make_memory(*SAMPLES), 2))
    assert "Not observed: what <C++> hides." in texts(root)
    assert "buffers" not in texts(root)
    assert colours(root) <= {*palette.MEMORY.values(), "#000", "#fff"}


def test_a_rank_without_samples_keeps_its_row() -> None:
    root = parse(draw_memory(make_memory(*SAMPLES), 3))
    assert [text for text in texts(root) if text.startswith("rank ")] == [
        "rank 0",
        "rank 1",
        "rank 2",
    ]
    assert "no samples" in texts(root)


def test_of_many_samples_the_highest_stay() -> None:
    many = [Sample(0, n * 1e-4, "forward", {"other": n % 977}) for n in range(10_000)]
    picture = draw_memory(make_memory(*many), 1)
    assert picture.sentence.startswith("Rank 0 holds most, 976 B")
    path = elements(parse(picture), "path")[1].attrib["d"]
    assert path.count("L") <= 2 * MAX_POINTS + 4


def test_a_run_that_tracked_no_memory_draws_the_rest() -> None:
    run = SimpleNamespace(ledger=Ledger([make_event(0, 0.0, 0.1)]), world_size=1, steps=())
    assert len(draw_run(run)) == 2
    run.memory = make_memory(*SAMPLES)
    assert len(draw_run(run)) == 3
