"""Which call of new_group was skipped, told from made-up orders of calls."""

from __future__ import annotations

from sandbox.proving.group_calls import Elsewhere, GroupCall, GroupCalls, Parting

PAIR, ALL = (0, 1), (0, 1, 2)
EVERYBODY = (0, 1, 2)


def calls_of(*orders: list[tuple[tuple[int, ...], int]]) -> GroupCalls:
    calls = GroupCalls(len(orders))
    for rank, order in enumerate(orders):
        for members, line in order:
            calls.add(rank, GroupCall(members, f"train.py:{line}"))
    return calls


def part(calls: GroupCalls, finished: tuple[int, ...] = ()) -> Parting | None:
    stuck = set(EVERYBODY) - set(finished)
    return calls.find_parting(stuck, finished, finished or EVERYBODY, {})


def test_a_rank_that_is_no_member_skips_a_call_too() -> None:
    parting = part(calls_of([(PAIR, 3), (ALL, 5)], [(PAIR, 3), (ALL, 5)], [(ALL, 5)]))
    assert parting is not None
    assert (parting.callers, parting.skippers, parting.culprits) == ([0, 1], [2], [2])
    assert (parting.call.site, parting.site) == ("train.py:3", "train.py:5")
    assert parting.describe() == (
        "rank 2 skipped new_group([0, 1]), or called in another order: ranks 0, 1 called it at "
        "train.py, line 3 where rank 2 called new_group([0, 1, 2]) at train.py, line 5."
    )


def test_equal_orders_do_not_part() -> None:
    order = [(PAIR, 3), (ALL, 5), (PAIR, 3)]
    assert part(calls_of(order, order, order)) is None
    assert part(calls_of(order[:1], order, order[:2])) is None  # each may call more


def test_the_same_members_from_another_line_are_another_branch() -> None:
    assert part(calls_of([(ALL, 3)], [(ALL, 4)], [(ALL, 4)])) is None


def test_a_line_that_comes_later_elsewhere_tells_which_call_was_skipped() -> None:
    parting = part(calls_of([(PAIR, 3), (PAIR, 5)], [(PAIR, 5)], [(PAIR, 5)]))
    assert parting is not None
    assert (parting.call.site, parting.skippers) == ("train.py:3", [1, 2])


def test_one_that_finished_and_is_not_waited_for_is_not_named() -> None:
    # Rank 2 left out the first, which did no harm: those two wait for nobody but each other.
    calls = calls_of([(PAIR, 3), (PAIR, 5)], [(PAIR, 3)], [])
    parting = calls.find_parting([0], [1, 2], [1], {})
    assert parting is not None
    assert (parting.call.site, parting.culprits) == ("train.py:5", [0])
    assert 1 in parting.skippers
    assert parting.describe() == (
        "only rank 0 called new_group([0, 1]) at train.py, line 5; ranks 1, 2 finished without it."
    )


def test_one_that_went_on_to_a_collective_skipped_the_call() -> None:
    calls = calls_of([(PAIR, 3)], [(PAIR, 3), (ALL, 5)], [(PAIR, 3)])
    parting = calls.find_parting([0, 1, 2], [], [0, 1, 2], {2: Elsewhere("barrier", "train.py:7")})
    assert parting is not None
    assert (parting.culprits, parting.site) == ([2], "train.py:7")
    assert parting.describe() == (
        "rank 2 skipped new_group([0, 1, 2]), or called in another order: rank 1 called it at "
        "train.py, line 5 where rank 2 called barrier at train.py, line 7."
    )
