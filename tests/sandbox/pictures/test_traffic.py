"""Bytes by operation and rank are those of the ledger, in words and bars."""

from __future__ import annotations

from drawing import make_event, parse, texts, titles

from sandbox.event import Op
from sandbox.ledger import Ledger
from sandbox.pictures.traffic import draw_traffic
from sandbox.pictures.view import View

EVENTS = [
    make_event(rank, 0.1 * n, 0.1 * n + 0.05, op=op, nbytes=3_000, group=(0, 1, 2))
    for rank in range(3)
    for n, op in enumerate((Op.ALL_REDUCE, Op.ALL_GATHER))
]


def test_each_rank_sends_what_the_ledger_counts() -> None:
    ledger = Ledger(EVENTS)
    picture = draw_traffic(ledger, 3)
    assert ledger.sent_bytes(2) == 6_000
    assert picture.sentence == (
        "Each rank sends 6.00 kB (counted as ring algorithms do): "
        "all_gather 2.00 kB, all_reduce 4.00 kB."
    )
    shown = titles(parse(picture))
    assert "rank 2: all_reduce sends 4,000 bytes" in shown
    assert "rank 2 sends 6,000 bytes in all" in shown


def test_who_sends_most_is_named() -> None:
    more = make_event(1, 0.5, 0.6, op=Op.SEND, nbytes=500, group=(0, 1, 2))
    assert draw_traffic(Ledger([*EVENTS, more]), 3).sentence.startswith(
        "Rank 1 sends most, 6.50 kB"
    )


def test_a_choice_counts_what_it_shows() -> None:
    steps = [[(1, 0.07), (2, 0.2)]] * 3
    of_rank_2 = draw_traffic(Ledger(EVENTS), 3, steps, View(rank=2, op=Op.ALL_GATHER))
    assert of_rank_2.sentence.startswith("Rank 2 sends 2.00 kB")
    of_step_1 = draw_traffic(Ledger(EVENTS), 3, steps, View(step=1))
    assert of_step_1.sentence.startswith("Each rank sends 4.00 kB")


def test_nothing_sent_still_draws() -> None:
    picture = draw_traffic(Ledger([make_event(0, 0.0, 0.1, group=(0,))]), 1)
    assert picture.sentence == "Nothing is sent."
    assert "0 B" in texts(parse(picture))


def test_a_key_says_what_ranks_do_with_what_it_lists_and_nothing_where_it_lists_nothing() -> None:
    assert "sends" in texts(parse(draw_traffic(Ledger(EVENTS), 3)))
    silent = make_event(0, 0.0, 0.1, op=Op.BARRIER, dtype="", nbytes=0)
    assert "sends" not in texts(parse(draw_traffic(Ledger([silent]), 1)))
