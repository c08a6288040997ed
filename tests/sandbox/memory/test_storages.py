"""Storages: each counts once, as long as it lives, with its present size."""

from __future__ import annotations

import gc

import torch
from hypothesis import given
from hypothesis import strategies as st

from sandbox.memory.category import Category
from sandbox.memory.storages import Storages, storages_of


def test_views_of_a_storage_count_once_with_all_its_bytes() -> None:
    storages = Storages()
    whole = torch.zeros(6, 5)
    for tensor in (whole[2:3], whole.T, whole, whole.detach()):
        storages.see(tensor, Category.OTHER)
    assert storages.total == storages.bytes[Category.OTHER] == 6 * 5 * 4


def test_a_storage_lives_as_long_as_its_last_view() -> None:
    storages = Storages()
    whole = torch.zeros(6, 5)
    storages.see(whole, Category.OTHER)
    view = whole[0]
    del whole
    gc.collect()
    storages.settle()
    assert storages.total == 120
    del view
    assert storages.has_freed
    storages.settle()
    assert storages.total == 0


def test_a_storage_alive_only_in_the_autograd_graph_counts() -> None:
    storages = Storages()
    weight = torch.ones(7, requires_grad=True)
    squared = weight * weight
    storages.see(squared, Category.ACTIVATIONS)
    loss = squared.exp().sum()
    del squared
    storages.settle()
    assert storages.bytes[Category.ACTIVATIONS] == 0  # exp keeps its result, not its input
    result = weight.exp()
    storages.see(result, Category.ACTIVATIONS)
    loss = result.sum() * result.sum()
    del result
    storages.settle()
    assert storages.bytes[Category.ACTIVATIONS] == 28
    loss.backward()
    storages.settle()
    assert storages.bytes[Category.ACTIVATIONS] == 0


def test_resizing_counts_as_freeing_and_allocating() -> None:
    storages = Storages()
    tensor = torch.zeros(10)
    storages.see(tensor, Category.UNSHARDED)
    for numel in (0, 10, 3):
        tensor.untyped_storage().resize_(4 * numel)
        storages.resize(tensor.untyped_storage())
        assert storages.bytes[Category.UNSHARDED] == storages.total == 4 * numel


def test_the_owner_decides_the_category_and_it_stays() -> None:
    storages = Storages()
    tensor = torch.zeros(3)
    storages.see(tensor, Category.ACTIVATIONS)
    (storage,) = storages_of(tensor)
    assert storages.assign(storage, Category.GRADIENTS) == 12
    storages.see(tensor.view(1, 3), Category.OTHER)
    assert storages.category_of(storage) is Category.GRADIENTS
    assert storages.bytes[Category.ACTIVATIONS] == 0


def test_what_has_no_bytes_of_its_own_is_left_out() -> None:
    storages = Storages()
    storages.see(torch.zeros(3, device="meta"), Category.OTHER)
    storages.see(torch.zeros(3).to_sparse(), Category.OTHER)
    assert storages.total == 0


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 50), st.sampled_from(Category))))
def test_totals_are_those_of_the_live_tensors_whatever_comes_and_goes(events) -> None:
    """Freed memory is often given out again at the same address: it must not be mistaken."""
    storages = Storages()
    alive: list[tuple[torch.Tensor, Category]] = []
    for is_new, number, category in events:
        if is_new:
            tensor = torch.empty(number, dtype=torch.uint8)
            storages.see(tensor, category)
            alive.append((tensor, category))
            del tensor
        elif alive:
            alive.pop(number % len(alive))
    storages.settle()
    for category in Category:
        held = sum(tensor.numel() for tensor, kind in alive if kind is category)
        assert storages.bytes[category] == held
    assert storages.total == sum(tensor.numel() for tensor, _ in alive)
