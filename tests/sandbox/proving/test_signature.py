"""Who disagrees with whom: pure comparisons of made-up calls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.observing.record import Call, Sizes
from sandbox.proving.signature import find_disagreement


def call(
    op: str = "all_to_all", gives: Sizes = 2, takes: Sizes = 2, root: int | None = None
) -> Call:
    return Call(op, (2,), 2, "float32", 4, None, root, gives, takes)


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 9), min_size=n, max_size=n), min_size=n, max_size=n
        )
    )
)
def test_any_consistent_matrix_is_right(matrix: list[list[int]]) -> None:
    ranks = tuple(range(len(matrix)))
    calls = {i: call(gives=tuple(matrix[i]), takes=tuple(row[i] for row in matrix)) for i in ranks}
    assert find_disagreement(calls, ranks) is None
    assert find_disagreement({i: calls[i] for i in ranks[:1]}, ranks) is None


@given(st.data())
def test_any_other_matrix_is_wrong(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 5))
    rows = st.lists(st.integers(0, 9), min_size=size, max_size=size)
    matrix = data.draw(st.lists(rows, min_size=size, max_size=size))
    ranks = tuple(range(10, 10 + size))
    takes = [[row[i] for row in matrix] for i in range(size)]
    wrong = data.draw(st.integers(0, size - 1))
    takes[wrong][data.draw(st.integers(0, size - 1))] += 1
    calls = {r: call(gives=tuple(matrix[i]), takes=tuple(takes[i])) for i, r in enumerate(ranks)}
    found = find_disagreement(calls, ranks)
    assert found is not None
    assert ranks[wrong] in (*found.culprits, *found.others)


def test_the_rank_in_most_wrong_pairs_is_the_culprit() -> None:
    calls = {0: call(), 1: call(gives=(2, 1, 3)), 2: call()}
    found = find_disagreement(calls, (0, 1, 2))
    assert found is not None
    assert (found.culprits, found.theirs) == ([1], "1 elements sent to rank 1")


def test_lists_off_the_root_are_not_compared() -> None:
    calls = {
        0: call("gather", gives=2, takes=(2, 3), root=0),
        1: call("gather", gives=3, takes=None, root=0),
    }
    assert find_disagreement(calls, (0, 1)) is None
    calls[1] = call("gather", gives=4, takes=None, root=0)
    assert find_disagreement(calls, (0, 1)) is not None


def test_uneven_reduce_scatter_lists_must_be_the_same_everywhere() -> None:
    lists = (1, 2, 3)
    calls = {i: call("reduce_scatter", gives=lists, takes=lists[i]) for i in range(3)}
    assert find_disagreement(calls, (0, 1, 2)) is None
    calls[2] = calls[2]._replace(gives=(1, 3, 2))
    found = find_disagreement(calls, (0, 1, 2))
    assert found is not None
    assert found.culprits == [2]


def test_one_against_one_is_told_by_the_first_rank() -> None:
    calls = {0: call("barrier"), 1: call("all_reduce")}
    found = find_disagreement(calls, (0, 1))
    assert found is not None
    assert (found.culprits, found.theirs, found.others) == ([1], "all_reduce", [0])
