"""Who waits for whom: an arrow per wait, the culprit in words and by a symbol."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from drawing import elements, parse, texts, titles

import sandbox
from sandbox import Op, WaitFor
from sandbox.errors import CollectiveMismatchError, DeadlockError
from sandbox.pictures.waits import draw_waits


def make_wait(rank: int, *waits_for: int, text: str = "waiting in <all_reduce> & more"):
    return WaitFor(rank, Op.ALL_REDUCE, (0, 1), waits_for, None, text)


def test_the_culprit_is_marked_and_each_wait_has_an_arrow_and_its_text() -> None:
    waits = [make_wait(rank, 2) for rank in (0, 1, 3)]
    picture = draw_waits("Rank 2 never called all_reduce #7.", waits, 2, world_size=4)
    root = parse(picture)
    assert {"rank 0", "rank 1", "✗ rank 2", "rank 3"} <= set(texts(root))
    arrows = [title for title in titles(root) if "waits for" in title]
    assert arrows == [f"rank {rank} waits for rank 2" for rank in (0, 1, 3)]
    assert texts(root).count("waiting in <all_reduce> & more") == 3
    assert "waits for nobody" in texts(root)


def test_a_cycle_has_an_arrow_from_each_rank() -> None:
    waits = [make_wait(rank, (rank + 1) % 3) for rank in range(3)]
    root = parse(draw_waits("Ranks 0-2 wait for each other.", waits, 0, 3))
    assert len([title for title in titles(root) if "waits for" in title]) == 3


def test_many_ranks_that_wait_alike_share_a_box() -> None:
    waits = [make_wait(rank, 40) for rank in range(64) if rank != 40]
    root = parse(draw_waits("Rank 40 never called barrier #1.", waits, 40, 64))
    assert len(elements(root, "rect")) < 12
    assert "✗ rank 40" in texts(root)


def test_a_long_text_is_cut_and_whole_on_hover() -> None:
    long = "waiting for rank 1 in all_to_all #12 " * 10
    root = parse(draw_waits("…", [make_wait(0, 1, text=long)], 1, 2))
    assert any(len(text) > 10 and text.endswith(" …") for text in texts(root))
    assert long in titles(root)


def test_an_error_without_waits_has_no_picture() -> None:
    error = DeadlockError("rank 1 never came.\n  rank 0: waits", rank=1)
    assert error.picture is None
    error.waits = (make_wait(0, 1),)
    assert repr(error.picture) == "rank 1 never came."


def leave_one_out() -> None:
    if dist.get_rank() != 1:
        dist.all_reduce(torch.ones(3))


def test_a_real_deadlock_is_drawn() -> None:
    with pytest.raises(DeadlockError) as caught:
        sandbox.launch(leave_one_out, world_size=3)
    root = parse(caught.value.picture)
    assert "✗ rank 1" in texts(root)
    arrows = [title for title in titles(root) if title.endswith(" waits for rank 1")]
    assert arrows == ["rank 0 waits for rank 1", "rank 2 waits for rank 1"]


def disagree() -> None:
    op = dist.ReduceOp.MAX if dist.get_rank() == 2 else dist.ReduceOp.SUM
    dist.all_reduce(torch.ones(3), op)


def test_a_real_mismatch_is_drawn_with_each_members_call() -> None:
    with pytest.raises(CollectiveMismatchError) as caught:
        sandbox.launch(disagree, world_size=3)
    shown = texts(parse(caught.value.picture))
    assert "✗ rank 2" in shown
    assert any("MAX" in text for text in shown)
