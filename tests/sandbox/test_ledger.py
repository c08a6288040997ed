"""Byte formulas against rings that are played through, chunk by chunk; counting and filtering."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

import sandbox
from sandbox.event import Event, Mark, Op
from sandbox.ledger import Ledger


def event(rank: int = 0, op: Op = Op.ALL_REDUCE, world_size: int = 4, **fields: Any) -> Event:
    numel = fields.pop("numel", 8)
    fields = {"seq": 1, "dtype": "float32", "nbytes": numel * 4, **fields}
    return Event(rank=rank, op=op, group=tuple(range(world_size)), numel=numel, **fields)


def bytes_by_rank(op: Op, world_size: int, **fields: Any) -> list[float]:
    ledger = Ledger(event(rank, op, world_size, **fields) for rank in range(world_size))
    return [ledger.sent_bytes(rank) for rank in range(world_size)]


def play_ring(world_size: int, chunk_bytes: int, num_rounds: int) -> list[int]:
    """Each rank passes one chunk to its right per round."""
    sent = Counter[int]()
    for _ in range(num_rounds):
        for rank in range(world_size):
            sent[rank] += chunk_bytes
    return [sent[rank] for rank in range(world_size)]


def play_chain(world_size: int, root: int, nbytes: int) -> list[int]:
    """The root hands the tensor to its right, and so on until the last one has it."""
    sent = Counter[int]()
    holder = root
    while (holder + 1) % world_size != root:
        sent[holder] += nbytes
        holder = (holder + 1) % world_size
    return [sent[rank] for rank in range(world_size)]


@given(st.integers(1, 6), st.integers(0, 100))
def test_ring_collectives(world_size: int, chunk: int) -> None:
    numel = chunk * world_size
    one_pass = play_ring(world_size, chunk * 4, world_size - 1)
    assert bytes_by_rank(Op.ALL_GATHER, world_size, numel=numel) == one_pass
    assert bytes_by_rank(Op.REDUCE_SCATTER, world_size, numel=numel) == one_pass
    assert bytes_by_rank(Op.ALL_TO_ALL, world_size, numel=numel) == one_pass
    # An all-reduce is a reduce-scatter and an all-gather.
    assert bytes_by_rank(Op.ALL_REDUCE, world_size, numel=numel) == [2 * b for b in one_pass]


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))))
def test_broadcast_is_a_chain_from_the_root(case: tuple[int, int]) -> None:
    world_size, root = case
    assert bytes_by_rank(Op.BROADCAST, world_size, root=root) == play_chain(world_size, root, 32)


def test_rooted_collectives_send_parts() -> None:
    assert bytes_by_rank(Op.REDUCE, 4, root=1) == [32, 0, 32, 32]
    assert bytes_by_rank(Op.GATHER, 4, root=1) == [8, 0, 8, 8]
    assert bytes_by_rank(Op.SCATTER, 4, root=1) == [0, 24, 0, 0]


def test_uneven_all_to_all_keeps_its_own_part() -> None:
    ledger = Ledger([event(1, Op.ALL_TO_ALL, 3, numel=10, parts=(1, 2, 7))])
    assert ledger.sent_bytes(1) == (1 + 7) * 4


def test_point_to_point_and_barrier() -> None:
    assert Ledger([event(0, Op.SEND, root=1)]).sent_bytes(0) == 32
    assert Ledger([event(0, Op.RECV, root=1)]).sent_bytes(0) == 0
    assert Ledger([event(0, Op.BARRIER, numel=0)]).sent_bytes(0) == 0


def test_many_thirds_add_up_exactly() -> None:
    ledger = Ledger(event(0, Op.ALL_GATHER, 3, numel=1) for _ in range(3000))
    assert ledger.sent_bytes(0) == 3000 * 4 * 2 / 3


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(ValueError, match="'tree', expected 'ring'"):
        Ledger().sent_bytes(0, algorithm="tree")


def test_count_and_where() -> None:
    ledger = Ledger(
        [
            event(0, Op.ALL_GATHER),
            event(0, Op.ALL_GATHER, numel=2),
            event(1, Op.ALL_GATHER, dtype="bfloat16"),
            event(1, Op.ALL_REDUCE, reduce_op="SUM"),
        ]
    )
    assert ledger.count(Op.ALL_GATHER) == 2
    assert ledger.count("all_gather", rank=1) == 1
    assert ledger.count(Op.ALL_GATHER, rank=None) == 3
    assert len(ledger.where(dtype="bfloat16")) == 1
    assert len(ledger.where(lambda e: e.numel == 2, rank=0)) == 1
    assert len(ledger.where(group=[0, 1, 2, 3], reduce_op="SUM")) == 1
    with pytest.raises(ValueError, match="allgather"):
        ledger.count("allgather")


def test_marks_cut_a_ranks_events_into_phases() -> None:
    events = [event(rank, start_s=float(time)) for rank in (0, 1) for time in (1, 3, 5)]
    marks = [Mark(0, "a", 2.0), Mark(0, "b", 2.5), Mark(1, "a", 0.5), Mark(0, "c", 6.0)]
    ledger = Ledger(events, marks).where(op=Op.ALL_REDUCE)
    assert [[e.start_s for e in phase] for phase in ledger.phases(0)] == [[1], [], [3, 5], []]
    assert [[e.start_s for e in phase] for phase in ledger.phases(1)] == [[], [1, 3, 5]]


def test_a_rank_marks_its_own_phases() -> None:
    def program() -> None:
        alone = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
        dist.all_reduce(torch.ones(2))
        sandbox.mark("half")
        for _ in range(dist.get_rank() + 1):
            dist.all_reduce(torch.ones(2), group=alone[dist.get_rank()])

    ledger = sandbox.launch(program, world_size=3).ledger
    assert [[len(phase) for phase in ledger.phases(rank)] for rank in range(3)] == [
        [1, 1],
        [1, 2],
        [1, 3],
    ]
    with pytest.raises(RuntimeError, match="outside of ranks"):
        sandbox.mark("here")
    with pytest.raises(sandbox.RankError, match="101 characters, expected at most 100"):
        sandbox.launch(lambda: sandbox.mark("x" * 101), world_size=1)


def test_events_come_in_the_order_of_their_start() -> None:
    ledger = Ledger([event(1, start_s=2.0), event(0, start_s=1.0), event(2, start_s=1.0)])
    assert [e.rank for e in ledger] == [0, 2, 1]
    assert ledger[-1].rank == 1
    assert len(ledger[:2]) == 2


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([], "Ledger(no collectives)"),
        ([event(0), event(1)], "Ledger(2 ranks, each rank: 1 all_reduce)"),
        ([event(0), event(0), event(1)], "Ledger(2 ranks, 3 all_reduce)"),
        ([event(0), event(0, Op.BARRIER)], "Ledger(1 rank, 1 all_reduce, 1 barrier)"),
    ],
)
def test_the_repr_is_one_line(events: list[Event], text: str) -> None:
    assert repr(Ledger(events)) == text


def test_an_operation_that_there_is_not_is_refused_with_the_nearest() -> None:
    ledger = Ledger([event(0)])
    with pytest.raises(ValueError, match=r"op is 'allreduce', expected one of .*'all_reduce'\?"):
        ledger.where(op="allreduce")
    with pytest.raises(ValueError, match=r"op is 7, expected one of all_gather, .*store.wait\.$"):
        ledger.count(7)


def test_a_rank_that_the_run_did_not_have_is_refused() -> None:
    ledger = Ledger([event(0), event(1)], [Mark(1, "later", 2.0)], world_size=2)
    for part in (ledger, ledger[:1], ledger.where(op="all_reduce"), *ledger.phases(1)):
        for ask in (part.sent_bytes, part.phases, lambda rank: ledger.where(rank=rank)):
            with pytest.raises(
                ValueError, match="rank is 9, expected one of this run's, from 0 to 1"
            ):
                ask(9)
    with pytest.raises(ValueError, match="rank is 2, .* from 0 to 1"):
        sandbox.launch(dist.barrier, world_size=2).ledger.where(group=[0, 2])


@pytest.mark.parametrize("rank", ["0", 1.0, True, -1])
def test_what_is_no_rank_is_refused_and_never_counted_as_nothing(rank: object) -> None:
    ledger = Ledger([event(0)])
    for ask in (
        lambda: ledger.sent_bytes(rank),
        lambda: ledger.count("all_reduce", rank),
        lambda: ledger.where(rank=rank),
        lambda: ledger.where(group=[0, rank]),
        lambda: ledger.phases(rank),
    ):
        with pytest.raises(ValueError, match="expected a whole number from 0"):
            ask()
