"""Ranks that meet in one call of new_group with different members, told from made-up calls."""

from __future__ import annotations

from sandbox.proving.group_calls import GroupCall
from sandbox.proving.group_meetings import GroupMeetings

FIRST = (1, "1")


def meet(*members: tuple[int, ...], is_over: bool = True) -> GroupMeetings:
    meetings = GroupMeetings(len(members))
    for rank, each in enumerate(members):
        meetings.begin(rank, FIRST, GroupCall(each, f"train.py:{rank}"), 10.0)
        if is_over:
            meetings.end(rank, FIRST, is_refused=False)
    return meetings


def test_each_with_its_own_pair_none_alone_is_to_blame() -> None:
    conflict = meet((0, 1), (0, 1), (2, 3), (2, 3)).find_conflict(11.0)
    assert conflict is not None
    assert conflict.rank is None
    assert "ranks 0-3 called new_group with different members (call #1)." in conflict.message
    assert "\n  rank 2: new_group([2, 3]) at train.py, line 2" in conflict.message
    assert {wait.rank: wait.group for wait in conflict.waits} == dict(
        enumerate([(0, 1), (0, 1), (2, 3), (2, 3)])
    )


def test_the_one_beside_the_others_is_to_blame_and_its_line_is_shown() -> None:
    conflict = meet((0, 1, 2), (0, 1), (0, 1, 2)).find_conflict(None)
    assert conflict is not None
    assert (conflict.rank, conflict.site) == (1, "train.py:1")


def test_the_order_of_members_counts() -> None:
    assert meet((0, 1), (1, 0)).find_conflict(None)


def test_who_is_no_member_or_alone_meets_nobody() -> None:
    assert not meet((0,), (1,), (2,)).find_conflict(None)
    assert not meet((0, 1), (0, 1), (0, 1), (1, 2)).find_conflict(None)
    assert not meet((0, 1), (0, 1), (2,)).find_conflict(None)


def test_calls_of_other_numbers_do_not_meet() -> None:
    meetings = GroupMeetings(2)
    meetings.begin(0, (1, "1"), GroupCall((0, 1), None), 10.0)
    meetings.begin(1, (2, "1"), GroupCall((1, 0), None), 10.0)  # after another init
    meetings.begin(1, (1, "2"), GroupCall((1, 0), None), 10.0)
    assert not meetings.find_conflict(None)


def test_a_call_stands_once_torch_has_had_time_to_refuse_it() -> None:
    meetings = meet((0, 1), (1, 0), is_over=False)
    assert meetings.are_disputed
    assert meetings.find_conflict(10.1) is None
    assert meetings.find_conflict(10.5) is not None


def test_a_call_that_torch_refuses_meets_nobody() -> None:
    meetings = meet((0, 1), (1, 0), is_over=False)
    meetings.end(0, FIRST, is_refused=True)
    assert not meetings.are_disputed
    assert meetings.find_conflict(None) is None


def test_others_have_a_moment_to_show_who_is_the_odd_one() -> None:
    meetings = GroupMeetings(3)
    for rank, members in enumerate([(0, 1), (1, 2)]):
        meetings.begin(rank, FIRST, GroupCall(members, None), 10.0)
        meetings.end(rank, FIRST, is_refused=False)
    assert meetings.find_conflict(10.1) is None
    assert meetings.find_conflict(10.3) is not None
