"""The chart of a run: every event with its title, waits apart from flights, true sentences."""

from __future__ import annotations

import pytest
from drawing import colours, elements, make_event, parse, texts, titles

from sandbox.event import Op
from sandbox.ledger import Ledger
from sandbox.pictures import palette
from sandbox.pictures.picture import bundle
from sandbox.pictures.spans import MAX_DRAWN, Kind, Window, busy_s, find_spans, merge, wait_of
from sandbox.pictures.time_axis import ticks
from sandbox.pictures.timeline import draw_timeline
from sandbox.pictures.traffic import draw_traffic
from sandbox.pictures.view import View

STEPS = [[(1, 0.5), (2, 1.0)], [(1, 0.5), (2, 1.0)]]
SYNC = [
    make_event(0, 0.0, 0.4, nbytes=4_000, call_site="/x/<b>&train.py:12"),
    make_event(1, 0.3, 0.4, nbytes=4_000),
    make_event(0, 0.6, 0.7, op=Op.ALL_GATHER, seq=2),
    make_event(1, 0.6, 0.7, op=Op.ALL_GATHER, seq=2),
]
ASYNC = make_event(0, 0.0, 0.4, is_async=True, waited_from_s=0.3)


def test_every_event_has_its_title_with_op_bytes_group_and_line() -> None:
    shown = titles(parse(draw_timeline(Ledger(SYNC), 2)))
    name = "rank 0: collective #1, all_reduce, of ranks 0, 1\n"
    first = next(title for title in shown if title.startswith(name))
    for part in ("4,000 bytes (4.00 kB) of float32", "400 ms, from 0 s", "<b>&train.py, line 12"):
        assert part in first
    for rank in (0, 1):
        assert any(title.startswith(f"rank {rank}: collective #2, all_gather,") for title in shown)


def test_the_sentence_says_who_waits_longest_and_in_what() -> None:
    sentence = draw_timeline(Ledger(SYNC), 2).sentence
    assert sentence == (
        "Ranks 0, 1: 2 collectives each in 700 ms. "
        "Rank 0 waits longest: 500 ms (71 %), mostly in all_reduce."
    )


def test_ranks_that_issued_nothing_are_not_counted_among_those_that_did() -> None:
    events = [make_event(rank, 0.1, 0.4, group=(1, 3)) for rank in (1, 3)]
    sentence = draw_timeline(Ledger(events), 4).sentence
    assert sentence.startswith("Ranks 1, 3: 1 collective each in 300 ms; ranks 0, 2: none.")
    chosen = draw_timeline(Ledger(events), 4, (), View(rank=3)).sentence
    assert chosen.startswith("Rank 3: 1 collective in 300 ms. It waits")


def test_a_choice_changes_the_window_and_the_sentence() -> None:
    view = View(rank=1, step=2, op=Op.ALL_GATHER)
    picture = draw_timeline(Ledger(SYNC), 2, STEPS, view)
    assert picture.sentence == "Step 2, rank 1: 1 all_gather in 500 ms. It waits: 100 ms (20 %)."
    assert not any("all_reduce" in title for title in titles(parse(picture)))


def test_a_step_holds_the_events_that_each_rank_issued_before_its_own_end_of_it() -> None:
    steps = [[(1, 0.5), (2, 1.0)], [(1, 0.65), (2, 1.0)]]  # rank 1 gathers before its step 1 ends
    sentence = draw_timeline(Ledger(SYNC), 2, steps, View(step=1)).sentence
    assert sentence.startswith("Step 1, ranks 0, 1: 1 to 2 collectives each in 650 ms.")


def test_step_ends_are_marked_on_every_rank() -> None:
    root = parse(draw_timeline(Ledger(SYNC), 2, STEPS))
    assert "rank 1: step 2 ends at 1.00 s" in titles(root)
    assert {"step 1", "step 2"} <= set(texts(root))


def test_an_asynchronous_operation_flies_and_only_its_wait_is_exposed() -> None:
    spans = find_spans([ASYNC], 1.0)
    assert [(s.kind, s.start_s, s.end_s) for s in spans] == [
        (Kind.WAIT, 0.3, 0.4),
        (Kind.FLIGHT, 0.0, 0.4),
    ]
    assert "75 % of the asynchronous time overlaps computing." in (
        draw_timeline(Ledger([ASYNC]), 1).sentence
    )


@pytest.mark.parametrize(
    ("fields", "wait"),
    [
        ({"is_async": True}, None),  # nobody was seen to wait
        ({"is_async": True, "waited_from_s": 0.5}, None),  # complete before anybody did
        ({}, (0.0, 0.4)),
    ],
)
def test_waits(fields: dict, wait: tuple | None) -> None:
    assert wait_of(make_event(0, 0.0, 0.4, **fields), 1.0) == wait


def test_what_never_completes_is_waited_for_to_the_end() -> None:
    assert wait_of(make_event(0, 0.2, None), 1.0) == (0.2, 1.0)
    root = parse(draw_timeline(Ledger([make_event(0, 0.2, None), make_event(1, 0.0, 0.9)]), 2))
    assert any("its end was not seen" in title for title in titles(root))


def test_overlapping_flights_lie_on_lanes_of_their_own() -> None:
    events = [make_event(0, 0.1 * n, 0.5, is_async=True) for n in range(5)]
    assert [span.lane for span in find_spans(events, 1.0)] == [0, 1, 2, 3, 3]


def test_overlapping_waits_of_two_threads_count_once() -> None:
    assert busy_s([(0.0, 0.4), (0.2, 0.5), (0.9, 2.0)], Window(0.1, 1.0)) == pytest.approx(0.5)


def test_ten_thousand_events_are_merged_none_is_lost_and_the_sentence_says_so() -> None:
    ops = (Op.ALL_GATHER, Op.REDUCE_SCATTER, Op.ALL_REDUCE)
    events = [
        make_event(i % 4, i * 1e-4, i * 1e-4 + 2e-4, op=ops[i // 4 % 3], nbytes=8)
        for i in range(10_000)
    ]
    spans = merge(find_spans(events, 1.1), Window(0.0, 1.0), 700)
    assert len(spans) <= MAX_DRAWN
    assert sorted(id(e) for span in spans for e in span.events) == sorted(map(id, events))
    picture = draw_timeline(Ledger(events), 4)
    assert picture.sentence.endswith(f"is merged: {len(merge_of(picture)):,} boxes.")
    assert sum(map(len, bundle([picture], "").values())) < 1_000_000


def merge_of(picture) -> list[str]:
    return [t for t in titles(parse(picture)) if "of rank" in t or "waits" in t]


def test_only_colours_of_the_palette_are_used() -> None:
    known = {*palette.OPERATIONS.values(), palette.COMPUTE, "#000", "#fff"}
    every = [make_event(0, 0.1 * n, 0.1 * n + 0.05, op=op, root=0) for n, op in enumerate(Op)]
    assert colours(parse(draw_timeline(Ledger(every), 1))) <= known


def test_no_two_operations_look_alike() -> None:
    drawn = [op for op in Op if not (op.makes_group or op.waits_for_store)]
    looks = {(palette.of_operation(op), palette.texture_of(op)) for op in drawn}
    assert len(looks) == len(drawn)


def test_a_dotted_operation_has_its_dots_in_the_key_and_wherever_it_is_drawn() -> None:
    gathers = [make_event(1, 0.5, 0.9, op=Op.GATHER, root=0)]
    events = [make_event(1, 0.0, 0.4, op=Op.ALL_GATHER), *gathers]
    for picture in (draw_timeline(Ledger(events), 2), draw_traffic(Ledger(gathers), 2)):
        root = parse(picture)
        (dots,) = [p for p in elements(root, "pattern") if p.attrib["id"].endswith("-dots")]
        fills = [rect.attrib["fill"] for rect in elements(root, "rect")]
        assert fills.count(f"url(#{dots.attrib['id']})") == 2


def test_rank_0_is_on_top_and_a_rank_without_events_keeps_its_row() -> None:
    names = [text for text in texts(parse(draw_timeline(Ledger(SYNC), 3))) if "rank " in text]
    assert names[-3:] == ["rank 0", "rank 1", "rank 2"]


def test_a_run_of_no_length_still_draws() -> None:
    root = parse(draw_timeline(Ledger([make_event(0, 0.2, 0.2)]), 1))
    assert elements(root, "rect")


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ((0.0, 1.0), ["0.0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"]),
        ((0.0871, 0.0934), ["88 ms", "90 ms", "92 ms"]),
        ((0.0, 40e-6), ["0 µs", "10 µs", "20 µs", "30 µs", "40 µs"]),
    ],
)
def test_ticks_are_round(window: tuple[float, float], words: list[str]) -> None:
    assert [text for _, text in ticks(*window)] == words
