"""Memory, Sample and Comparison on made-up samples: plain data, no ranks."""

from __future__ import annotations

import marshal

import pytest

from sandbox import model_states
from sandbox.memory.category import CATEGORIES, Category, Phase
from sandbox.memory.history import Memory
from sandbox.memory.sample import Facts, Sample
from sandbox.pictures.palette import MEMORY
from sandbox.units import format_bytes


def sample(phase: str = "step", *, rank: int = 0, time_s: float = 1.0, **known) -> Sample:
    held = {"parameters": 0, "gradients": 0, "optimizer": 0} | known.pop("bytes", {})
    return Sample(
        rank=rank,
        time_s=time_s,
        step=known.pop("step", 0),
        phase=Phase(phase),
        is_end=known.pop("is_end", True),
        bytes={category: held.get(category, 0) for category in CATEGORIES},
        site=known.pop("site", None),
        **known,
    )


def test_every_category_has_its_colour_in_the_order_of_the_palette() -> None:
    assert [category.value for category in CATEGORIES] == list(MEMORY)


def test_a_sample_survives_its_way_and_fits_into_a_record() -> None:
    before = sample(
        time_s=12.5,
        bytes={"activations": 1 << 45, "optimizer": None},
        site="/home/learner/" + "x" * 200 + ".py:7",
        facts=Facts(1, 2, 3),
        allocated_bytes=512,
    )
    record = ("memory", "sample", *before.pack())
    body = marshal.dumps(record)
    assert len(body) < 1000
    after = Sample.unpack(0, marshal.loads(body)[2:], start_s=10.0)
    assert after == Sample(**{**vars(before), "time_s": 2.5})


def test_what_is_not_observed_is_none_and_left_out_of_the_total() -> None:
    assert sample(bytes={"parameters": 5, "optimizer": None}).total == 5


def test_samples_are_in_the_order_of_time_whatever_rank_tells_first() -> None:
    memory = Memory([sample(rank=1, time_s=2.0), sample(rank=0, time_s=1.0)])
    assert [s.rank for s in memory.samples] == [0, 1]
    assert memory.ranks == (0, 1)


def test_the_peak_is_the_highest_of_samples_and_peaks_of_its_own_rank() -> None:
    low, high = sample(bytes={"other": 5}), sample(bytes={"other": 9}, is_end=False, site="a.py:3")
    foreign = sample(rank=1, bytes={"other": 50})
    memory = Memory([low, foreign], [high])
    assert memory.peak(0) is high
    assert memory.peak(1) is foreign
    assert repr(memory) == "Memory(rank 1: peak 50 B in step: other 50 B)"
    same = Memory(sample(rank=rank, bytes={"other": 50}) for rank in range(3))
    assert repr(same) == "Memory(ranks 0-2: peak 50 B in step: other 50 B)"
    assert memory.describe_peak(0) == "peak 9 B in step at a.py, line 3: other 9 B"


def test_the_latest_of_several_ends_is_given_unless_a_step_is_named() -> None:
    first, second = sample(step=0), sample(step=1, time_s=2.0)
    inside = sample(step=1, time_s=3.0, is_end=False)
    memory = Memory([first, second, inside])
    assert memory.at("step") is second
    assert memory.at("step", step=0) is first


def measured(facts: Facts | None = None, **held: int | None) -> Memory:
    facts = facts or Facts()
    return Memory([sample(phase, bytes=held, facts=facts) for phase in ("backward", "step")])


@pytest.mark.parametrize(
    ("stage", "facts", "held", "category", "gap", "reason"),
    [
        (3, Facts(parameters_padding=8), {"parameters": 112}, "parameters", 8, "8 B lie in the"),
        (3, None, {"parameters": 416}, "parameters", 312, "kept whole on this rank"),
        (2, None, {"gradients": 416}, "gradients", 312, "kept whole on this rank"),
        (2, None, {"parameters": 104}, "parameters", -312, "kept as a shard; whole"),
        (3, None, {"gradients": 0}, "gradients", -104, "freed before backward returned"),
        (3, None, {"gradients": 112}, "gradients", 8, "+8 B: whole rows or tensors do not"),
        (3, None, {"parameters": 52}, "parameters", -52, "-52 B: whole rows"),
        (0, None, {"gradients": 90}, "gradients", -326, "-326 B: other sizes than predicted"),
        (1, Facts(step_counters=12), {"optimizer": 220}, "optimizer", 12, "12 B are step counters"),
        (1, None, {"optimizer": 312}, "optimizer", 104, "104 B are a copy of the weights"),
        (1, None, {"optimizer": None}, "optimizer", None, "no optimizer of torch's was made"),
        (1, None, {"optimizer": 0}, "optimizer", -208, "another optimizer than predicted: as sgd,"),
        (0, None, {"optimizer": 416}, "optimizer", -416, "another optimizer than predicted: as mo"),
    ],
)
def test_a_gap_is_explained(stage, facts, held, category, gap, reason) -> None:
    """104 parameters on 4 ranks in fp32: 416 bytes, 104 per shard."""
    row = measured(facts, **held).compare(model_states(104, 4, stage))[category]
    assert row.gap == gap
    assert row.reasons[0].startswith(reason)


def test_what_agrees_needs_no_reason() -> None:
    memory = measured(parameters=416, gradients=416, optimizer=832)
    comparison = memory.compare(model_states(104, 4, 0))
    assert [(row.gap, row.reasons) for row in comparison.rows] == [(0, ())] * 3


def test_the_table_says_predicted_measured_and_gap() -> None:
    memory = measured(Facts(step_counters=8), parameters=416, gradients=416, optimizer=840)
    lines = repr(memory.compare(model_states(104, 4, 0))).splitlines()
    assert [line.split("  (")[0].split() for line in lines] == [
        ["model", "states", "of", "rank", "0,", "bytes", "predicted", "measured", "gap"],
        ["parameters", "416", "416", "+0"],
        ["gradients", "416", "416", "+0"],
        ["optimizer", "832", "840", "+8"],
    ]
    assert lines[3].endswith("(end of step, step 0) 8 B are step counters, scalars of 4 B")


def test_without_a_step_the_comparison_says_what_was_not_seen() -> None:
    memory = Memory([sample("init", bytes={"parameters": 416})])
    comparison = memory.compare(model_states(104, 4, 0))
    assert comparison["parameters"].gap == 0
    assert comparison["gradients"].measured is None
    assert comparison["gradients"].reasons == ("no end of backward was seen",)


@pytest.mark.parametrize(
    ("predicted", "held", "reason"),
    [
        ({"optimizer": "sgd"}, 832, "as adamw, which keeps 2 elements per parameter beside"),
        ({"optimizer": "sgd", "param_dtype": "bfloat16"}, 1248, "as adam"),
        ({"param_dtype": "bfloat16"}, 416, "as sgd, which keeps 0 elements"),
    ],
)
def test_another_optimizer_than_predicted_is_named(predicted, held: int, reason: str) -> None:
    row = measured(optimizer=held).compare(model_states(104, 4, 0, **predicted))["optimizer"]
    assert reason in " ".join(row.reasons)


def test_an_optimizer_that_took_no_step_is_told_from_one_that_was_not_made() -> None:
    begin = sample("init", bytes={"optimizer": None})
    late = sample("backward", time_s=2.0, bytes={"optimizer": 0})
    for samples in ([sample("init")], [begin, late]):
        row = Memory(samples).compare(model_states(104, 4, 0))["optimizer"]
        assert row.reasons == (
            "no step of the optimizer was seen; it makes its states in the first",
        )


@pytest.mark.parametrize("prediction", [1000, "adamw", None])
def test_a_prediction_of_another_kind_is_refused_in_one_line(prediction) -> None:
    with pytest.raises(ValueError, match=r"the prediction is .*, expected what model_states ret"):
        Memory([sample()]).compare(prediction)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (42_804, "42.8 kB"), (999_600, "1.00 MB"),
        (1_500_000_000, "1.50 GB"), (120e9, "120 GB"), (-8, "-8 B"), (9_996, "10.0 kB"),
    ],
)  # fmt: skip
def test_sizes_are_decimal_with_three_digits(nbytes: float, text: str) -> None:
    assert format_bytes(nbytes) == text


def test_categories_are_strings_for_those_who_write_them_so() -> None:
    assert sample(bytes={"gradients": 4}).bytes["gradients"] == 4
    assert Category.GRADIENTS == "gradients"


@pytest.mark.parametrize("world_size", [4, 2, None])
def test_a_prediction_for_more_ranks_than_there_were_is_refused(world_size: int | None) -> None:
    samples = measured().samples
    if world_size != 2:
        Memory(samples, (), world_size).compare(model_states(104, 4, 0))
        return
    with pytest.raises(ValueError, match="is for 4 ranks, and this run had 2. Hint: model_states"):
        Memory(samples, (), world_size).compare(model_states(104, 4, 0))
