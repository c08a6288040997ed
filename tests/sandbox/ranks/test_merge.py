"""Merged lines: none is lost, each rank's keep their order, equal ones are one where they can."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.ranks.merge import MERGE_WINDOW_S, Merge


def take_all(merge: Merge) -> list[tuple[list[int], str]]:
    return list(merge.take(0.0, everything=True))


def test_a_source_line_stays_behind_its_own_warning_and_is_merged() -> None:
    merge = Merge(3)
    for rank in range(3):
        merge.add(rank, f"{rank}.py:5: UserWarning", 0.0)
        merge.add(rank, "  warnings.warn()", 0.0)
    assert take_all(merge) == [
        ([0], "0.py:5: UserWarning"),
        ([1], "1.py:5: UserWarning"),
        ([2], "2.py:5: UserWarning"),
        ([0, 1, 2], "  warnings.warn()"),
    ]


def test_lines_in_opposite_orders_are_split() -> None:
    merge = Merge(2)
    for rank, texts in enumerate(["ab", "ba"]):
        for text in texts:
            merge.add(rank, text, 0.0)
    assert take_all(merge) == [([0], "a"), ([0, 1], "b"), ([1], "a")]


def test_a_line_that_all_ranks_have_printed_waits_only_for_what_comes_before_it() -> None:
    merge = Merge(2)
    merge.add(0, "same", 0.0)
    merge.add(1, "mine", 0.0)
    merge.add(1, "same", 0.0)
    assert list(merge.take(MERGE_WINDOW_S / 2, everything=False)) == []
    assert list(merge.take(MERGE_WINDOW_S * 2, everything=False)) == [
        ([1], "mine"),
        ([0, 1], "same"),
    ]


@given(
    st.integers(1, 4).flatmap(
        lambda size: st.tuples(
            st.just(size),
            st.lists(st.tuples(st.integers(0, size - 1), st.sampled_from("abc"), st.booleans())),
        )
    )
)
def test_no_line_is_lost_and_each_rank_keeps_its_order(
    told: tuple[int, list[tuple[int, str, bool]]],
) -> None:
    size, lines = told
    merge, shown = Merge(size), []
    for number, (rank, text, is_flushed) in enumerate(lines):
        merge.add(rank, text, number * 0.07)
        if is_flushed:
            shown += merge.take(number * 0.07, everything=False)
    shown += take_all(merge)
    for rank in range(size):
        own = [text for who, text, _ in lines if who == rank]
        assert [text for ranks, text in shown if rank in ranks] == own
