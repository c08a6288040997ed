"""Links: which links an operation goes over, for how long, and one after the other."""

from __future__ import annotations

from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox import SlowLink
from sandbox.faults.late_work import Transfer
from sandbox.faults.links import Links, measure
from sandbox.observing.record import Call
from sandbox.observing.recorder import Lane


def make_links(*slow: SlowLink, rank: int = 0) -> Links:
    links = Links(rank)
    links.slow += slow
    return links


def all_reduce(numel: int) -> Call:
    return Call("all_reduce", (numel,), numel, "float32", 4, "SUM", gives=numel, takes=numel)


def send(numel: int, peer: int, op: str = "send") -> Call:
    return Call(op, (numel,), numel, "float32", 4, root=peer, gives=numel, takes=numel)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_bytes_are_those_of_the_busiest_member_and_the_messages_those_of_a_ring(
    size: int,
) -> None:
    ranks, whole = tuple(range(size)), 4.0 * 30
    part = whole * (size - 1) / size
    expected = {
        "all_reduce": (2 * part, 2 * (size - 1)),
        "all_gather": (part, size - 1),
        "reduce_scatter": (part, size - 1),
        "all_to_all": (part, size - 1),
        "broadcast": (whole, size - 1),
        "reduce": (whole, size - 1),
        "scatter": (part, size - 1),
        "gather": (part, size - 1),
        "barrier": (0.0, 2 * (size - 1)),
        "send": (whole, 1),
        "recv": (whole, 1),
    }
    for op, asked in expected.items():
        for rank in ranks:
            root = 1 if op in ("broadcast", "reduce", "scatter", "gather") else None
            numel = 0 if op == "barrier" else 30
            call = Call(op, (numel,), numel, "float32", 4, root=root)
            assert measure(call, ranks, rank) == asked, (op, rank)


def test_every_rank_finds_the_same_time_and_none_sends_more() -> None:
    def operate() -> None:
        whole, rank = torch.ones(12), dist.get_rank()
        parts = list(torch.empty(12).chunk(3))
        dist.all_reduce(whole)
        dist.broadcast(whole, 1)
        dist.reduce(whole, 2)
        dist.all_gather(parts, torch.ones(4))
        dist.reduce_scatter_single(torch.empty(4), whole)
        dist.scatter(torch.empty(4), parts if rank == 1 else None, src=1)
        dist.all_to_all_single(torch.empty(12), whole)

    run = sandbox.launch(operate, world_size=3)
    for place in range(7):
        events = [run.ledger.where(rank=rank)[place] for rank in range(3)]
        times = set()
        for event in events:
            assert isinstance(event, sandbox.Event)
            call = Call(event.op.value, event.shape, event.numel, event.dtype, 4, root=event.root)
            times.add(measure(call, event.group, event.rank)[0])
        sent = [
            run.ledger.where(lambda e, s=event: e is s).sent_bytes(event.rank) for event in events
        ]
        assert times == {max(sent)}, events[0].op


def test_a_transfer_takes_bytes_over_bandwidth_and_a_latency_for_each_message() -> None:
    transfer = make_links(SlowLink(1000.0, latency=0.5)).plan(all_reduce(30), (0, 1, 2))
    assert transfer.links == ((0, 1), (1, 2), (2, 0))
    assert transfer.duration_s == pytest.approx(160 / 1000 + 4 * 0.5)


def test_the_slowest_link_of_the_ring_decides() -> None:
    links = make_links(SlowLink(1000.0, between=(0, 1)), SlowLink(10.0, between=(2, 3)))
    assert links.plan(all_reduce(4), (0, 1, 2, 3)) == Transfer(((0, 1), (2, 3)), 24 / 10)
    assert links.plan(all_reduce(4), (0, 1)) == Transfer(((0, 1), (1, 0)), 16 / 1000)
    both = make_links(SlowLink(1e9, latency=1.0), SlowLink(10.0))
    assert both.plan(all_reduce(4), (0, 1)).duration_s == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("ranks", [(0, 2), (0, 2, 1), (0,), (3, 4)])
def test_a_ring_that_passes_over_no_slow_link_is_not_delayed(ranks: tuple[int, ...]) -> None:
    links = make_links(SlowLink(10.0, between=(1, 3)))
    assert links.plan(all_reduce(4), ranks) == Transfer((), 0.0)


def test_a_world_of_one_has_no_links() -> None:
    assert make_links(SlowLink(10.0)).plan(all_reduce(4), (0,)).links == ()


def test_messages_go_over_one_link_in_one_direction() -> None:
    links = make_links(SlowLink(100.0, 0.5), rank=1)
    assert links.plan(send(25, peer=2), (0, 1, 2)) == Transfer(((1, 2),), 1.5)
    assert links.plan(send(25, peer=2, op="recv"), (0, 1, 2)) == Transfer(((2, 1),), 1.5)


def test_what_shares_a_link_waits_for_it_and_what_does_not_goes_on() -> None:
    links = make_links()
    first, second = Transfer(((0, 1), (1, 0)), 2.0), Transfer(((1, 0),), 3.0)
    assert links.occupy(first, 10.0) == 12.0
    assert links.occupy(second, 11.0) == 15.0  # in flight at once, delivered in a row
    assert links.occupy(Transfer(((2, 3),), 1.0), 11.0) == 12.0
    assert links.occupy(first, 20.0) == 22.0  # an idle link saves up nothing


class DoneWork:
    """A backend's handle of something that is complete."""

    def wait(self) -> bool:
        return True

    def is_completed(self) -> bool:
        return True


def test_a_group_is_served_in_the_order_of_issue_whatever_the_backend_finishes_first() -> None:
    links, lane = make_links(SlowLink(1e12)), Lane("group", (0, 1))
    futures = [torch.futures.Future() for _ in range(3)]
    works, delivered = zip(
        *(links.delay(DoneWork(), future, all_reduce(4), lane) for future in futures), strict=True
    )
    futures[1].set_result("second")
    with pytest.raises(RuntimeError, match="Timed out"):
        works[1].wait(timedelta(milliseconds=1))
    assert not works[1].is_completed()
    other, _ = links.delay(DoneWork(), None, send(4, peer=1), lane)
    assert other.wait()  # messages keep no order with the collectives
    futures[0].set_exception(ValueError("refused"))
    with pytest.raises(ValueError, match="refused"):
        works[0].wait()
    with pytest.raises(ValueError, match="refused"):
        delivered[0].wait()
    assert works[1].wait()
    assert delivered[1].wait() == "second"
    futures[2].set_result("third")
    assert delivered[2].wait() == "third"
