"""model_states: the formula of the ZeRO paper, against its own figure and a count by hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sandbox import model_states
from sandbox.memory.model_states import ITEMSIZES, NUM_MOMENTS


def largest_share(num_params: int, world_size: int, alignment: int) -> int:
    """Deal the elements out in runs of `alignment` until none is left; return the largest hand."""
    hands = [0] * world_size
    left = num_params
    while left > 0:
        for rank in range(world_size):
            hands[rank] += alignment
            left -= alignment
    return max(hands)


@given(
    num_params=st.integers(0, 3000),
    world_size=st.integers(1, 9),
    stage=st.integers(0, 3),
    optimizer=st.sampled_from(sorted(NUM_MOMENTS)),
    param_dtype=st.sampled_from(sorted(ITEMSIZES)),
    master_weights=st.booleans(),
    alignment=st.integers(1, 4),
)
def test_it_is_the_sum_of_what_a_rank_keeps_of_every_tensor(
    num_params, world_size, stage, optimizer, param_dtype, master_weights, alignment
) -> None:
    share = largest_share(num_params, world_size, alignment)
    itemsize = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}[param_dtype]
    moment = {"adamw": 2, "adam": 2, "momentum": 1, "sgd": 0}[optimizer]
    parameters = sum(itemsize for _ in range(share if stage == 3 else num_params))
    gradients = sum(itemsize for _ in range(share if stage >= 2 else num_params))
    state_numel = share if stage >= 1 else num_params
    states = state_numel * moment * (4 if master_weights else itemsize)
    states += state_numel * 4 if master_weights else 0
    found = model_states(
        num_params,
        world_size,
        stage,
        optimizer,
        param_dtype=param_dtype,
        master_weights=master_weights,
        alignment=alignment,
    )
    assert (found.parameters, found.gradients, found.optimizer) == (parameters, gradients, states)
    assert found.total == parameters + gradients + states


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_it_gives_the_numbers_of_the_papers_figure_1(stage: int, gigabytes: float) -> None:
    """7.5 B parameters on 64 ranks; Rajbhandari et al. 2020, fig. 1."""
    found = model_states(7_500_000_000, 64, stage, param_dtype="float16")
    assert found.total / 1e9 == pytest.approx(gigabytes, abs=0.05)


def test_the_two_ways_to_count_16_bytes_are_told_apart() -> None:
    mixed = model_states(10, 1, 0, param_dtype="bfloat16")
    assert (mixed.parameters, mixed.gradients, mixed.optimizer) == (20, 20, 120)
    assert mixed.accounting == "mixed precision, 2 + 2 + 12 = 16 bytes per parameter"
    single = model_states(10, 1, 0)
    assert (single.parameters, single.gradients, single.optimizer) == (40, 40, 80)
    assert single.accounting == "one precision, 4 + 4 + 8 = 16 bytes per parameter"
    copied = model_states(10, 1, 0, master_weights=True)
    assert copied.accounting == "with fp32 master weights, 4 + 4 + 12 = 20 bytes per parameter"


@pytest.mark.parametrize(
    ("name", "stage"),
    [("DDP", 0), ("NO_SHARD", 0), ("SHARD_GRAD_OP", 2), ("FULL_SHARD", 3), ("full_shard", 3)],
)
def test_names_of_fsdp_stand_for_stages(name: str, stage: int) -> None:
    assert model_states(101, 3, name) == model_states(101, 3, stage)


def test_numbers_and_dtypes_may_be_written_as_people_write_them() -> None:
    written = model_states(7e9, 8, 3, param_dtype=torch.bfloat16)
    assert written == model_states(7_000_000_000, 8, 3, param_dtype="bfloat16")


def test_alignment_pads_the_whole_as_deepspeed_does() -> None:
    assert 4 * model_states(42_804, 4, 3, alignment=2).parameters == 4 * 42_808


def test_it_reads_as_one_line_in_decimal_units() -> None:
    assert repr(model_states(42_804, 4, 3)) == (
        "ModelStates(stage 3, world_size 4, 42,804 parameters, one precision, 4 + 4 + 8 = 16 bytes "
        "per parameter: parameters 42.8 kB, gradients 42.8 kB, optimizer 85.6 kB, total 171 kB per "
        "rank)"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stage": 4}, "stage is 4, expected 0, 1, 2, 3 or one of DDP, NO_SHARD"),
        ({"stage": "zero"}, "stage is 'zero', expected 0, 1, 2, 3 or one of"),
        ({"optimizer": "lion"}, "optimizer is 'lion', expected one of adamw, adam"),
        ({"param_dtype": "bf16"}, "param_dtype is 'bf16', expected one of float64, float32"),
        ({"world_size": 0}, "world_size is 0, expected a whole number from 1"),
        ({"num_params": 0.5}, "num_params is 0.5, expected a whole number from 0"),
    ],
)
def test_what_it_does_not_know_it_says(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_states(**({"num_params": 8, "world_size": 2, "stage": 1} | changes))
