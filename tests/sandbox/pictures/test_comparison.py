"""Prediction and measurement are drawn in one place, the gap in words, and nothing is made up."""

from __future__ import annotations

from drawing import parse, texts, titles

from sandbox.memory.category import Category
from sandbox.memory.comparison import Comparison, Row
from sandbox.pictures.comparison import draw_comparison
from sandbox.pictures.palette import MEMORY

ROWS = (
    Row(Category.PARAMETERS, 1_000, 1_500, "end of step, step 1", ("500 B are <padding> & more",)),
    Row(Category.GRADIENTS, 1_000, 1_000, "end of backward, step 1", ()),
    Row(Category.OPTIMIZER, 2_000, None, "", ("not observed: no end of step was seen",)),
)


def test_bars_and_outlines_are_as_long_as_the_bytes() -> None:
    root = parse(draw_comparison(Comparison(0, ROWS)))
    rects = [e for e in root.iter() if e.tag.endswith("rect") and e.find("{*}title") is not None]
    widths = [float(rect.attrib["width"].rstrip("%")) for rect in rects]
    assert [round(width / widths[0], 3) for width in widths] == [1, 0.667, 0.667, 0.667, 1.333]
    fills = [rect.attrib["fill"] for rect in rects]
    assert fills == [MEMORY["parameters"], "none", MEMORY["gradients"], "none", "none"]
    assert "parameters measured: 1,500 bytes, end of step, step 1" in titles(root)
    assert "optimizer predicted: 2,000 bytes" in titles(root)


def test_gaps_stand_at_the_bars_and_reasons_under_them() -> None:
    shown = [
        text.replace("\u00a0", " ") for text in texts(parse(draw_comparison(Comparison(0, ROWS))))
    ]
    assert {"parameters: +500 B", "predicted 1.00 kB, measured 1.50 kB"} <= {*shown}
    assert "parameters: 500 B are <padding> & more" in shown
    assert {"gradients: no gap", "predicted 1.00 kB, measured 1.00 kB"} <= {*shown}
    assert {"optimizer: not observed", "predicted 2.00 kB"} <= {*shown}


def test_the_sentence_sums_what_was_seen() -> None:
    assert draw_comparison(Comparison(3, ROWS)).sentence == (
        "Rank 3 was predicted to hold 2.00 kB of model states other than optimizer (not observed) "
        "(dashed outline) and held 2.50 kB (filled)."
    )
    assert draw_comparison(Comparison(3, ROWS[:2])).sentence.startswith(
        "Rank 3 was predicted to hold 2.00 kB of model states (dashed outline) and held"
    )
    assert draw_comparison(Comparison(3, ROWS[2:])).sentence == (
        "Of the model states of rank 3, none was observed."
    )


def test_a_comparison_draws_itself_and_keeps_its_table() -> None:
    bundle = Comparison(0, ROWS)._repr_mimebundle_()
    assert bundle["text/plain"].splitlines()[1].startswith("parameters")
    assert "image/svg+xml" in bundle
