"""Phases: which calls begin and end one, nested as libraries nest them."""

from __future__ import annotations

import pytest
from torch import nn

from sandbox.memory.category import Category, Phase
from sandbox.memory.phases import Phases

MODEL = nn.Linear(2, 2)
LOSS = nn.MSELoss()  # a module without parameters


@pytest.fixture
def seen() -> list[str]:
    return []


@pytest.fixture
def phases(seen) -> Phases:
    return Phases(lambda phase: seen.append(phase.value))


def call(phases: Phases, module: nn.Module = MODEL, *, has_returned: bool = True) -> None:
    phases.begin_module(module)
    phases.end_module(has_returned=has_returned)


def backward(phases: Phases) -> None:
    phases.begin_backward()
    phases.end_backward()


def step(phases: Phases) -> None:
    phases.begin_step()
    phases.note_update()
    phases.end_step()


def test_a_training_step_goes_through_all_phases(phases, seen) -> None:
    for number in range(2):
        call(phases)
        assert phases.step == number
        call(phases, LOSS)
        backward(phases)
        step(phases)
    of_step = ["forward", "loss", "backward", "step"]
    assert seen == ["init", *of_step, *of_step]
    assert phases.phase is Phase.BETWEEN


def test_nested_modules_and_backwards_are_one_phase(phases, seen) -> None:
    phases.begin_module(MODEL)
    call(phases)
    phases.end_module(has_returned=True)
    phases.begin_backward()
    call(phases)  # recomputed
    backward(phases)
    phases.end_backward()
    assert seen == ["init", "forward", "loss", "backward"]


def test_accumulated_micro_batches_belong_to_one_step(phases, seen) -> None:
    for _ in range(2):
        call(phases)
        backward(phases)
    step(phases)
    assert phases.step == 0
    assert seen == ["init", "forward", "loss", "backward", "forward", "loss", "backward", "step"]
    call(phases)
    assert phases.step == 1


def test_a_step_before_any_backward_is_part_of_the_making(phases, seen) -> None:
    step(phases)
    call(phases)
    assert seen == ["init", "forward"]


def test_an_engines_step_counts_only_when_its_optimizer_has_stepped(phases, seen) -> None:
    call(phases)
    backward(phases)
    del seen[:]
    phases.begin_step()
    phases.end_step()
    assert seen == []
    phases.begin_step()
    step(phases)
    assert seen == []
    phases.end_step()
    assert seen == ["step"]


def test_what_raises_ends_no_phase(phases, seen) -> None:
    call(phases, has_returned=False)
    assert seen == ["init"]
    call(phases)
    phases.begin_backward()
    phases.end_backward(has_returned=False)
    assert seen == ["init", "forward", "loss"]


def test_a_call_without_a_forward_is_all_making(phases, seen) -> None:
    phases.end()
    assert seen == ["init"]


def test_what_appears_is_an_activation_in_forward_loss_and_recomputation_alone(phases) -> None:
    assert phases.birth_category is Category.OTHER
    phases.begin_module(MODEL)
    assert phases.birth_category is Category.ACTIVATIONS
    phases.end_module(has_returned=True)
    assert phases.birth_category is Category.ACTIVATIONS
    phases.begin_backward()
    assert phases.birth_category is Category.OTHER
    phases.begin_module(MODEL)
    assert phases.birth_category is Category.ACTIVATIONS
    phases.end_module(has_returned=True)
    phases.end_backward()
    phases.begin_step()
    assert phases.birth_category is Category.OTHER


def test_what_ddp_makes_for_itself_is_a_buffer(phases) -> None:
    phases.begin_module(MODEL)
    phases.begin_reducer()
    assert phases.birth_category is Category.BUFFERS
    phases.end_reducer(has_returned=True)
    assert phases.birth_category is Category.ACTIVATIONS
