"""fsdp01's judges, on made-up observations: facts decide, whatever a rank says of itself."""

from dataclasses import replace

import pytest
import torch

from grader import judge_step
from grader.cases import CASES, Case
from grader.fsdp01 import judge_sharding
from grader.fsdp01.shard_model import Observation
from grader.fsdp01.units import Unit, expected_collectives
from grader.judge_step import StepSeen
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.shards import Shard, chunk_rows, padded_numel
from grader.truth import CLIPPINGS, Clipping, train, weights_of
from grader.verdict import Failure
from sandbox.event import Mark
from sandbox.ledger import Ledger

pytestmark = pytest.mark.fsdp01
WORLD_SIZE = 3
CASE = replace(CASES[2], frozen=())


def shard_of(name, whole, rank, world_size=WORLD_SIZE, **changes):
    first, stop = chunk_rows(len(whole), rank, world_size)
    local = whole[first:stop].clone()
    num_bytes = padded_numel(whole.shape, world_size) // world_size * 8
    mesh = list(range(world_size))
    shard = Shard(name, tuple(whole.shape), ("S(0)",), mesh, first, local, num_bytes)
    return replace(shard, **changes)


def shards_of_rank(tensors, rank):
    return {name: shard_of(name, whole, rank) for name, whole in tensors.items()}


@pytest.fixture(scope="module")
def weights():
    return weights_of(CASE.new_model())


@pytest.fixture(scope="module")
def truths():
    batches = [CASE.global_tokens(step) for step in range(2)]
    return train(CASE.new_model(), 1e-2, batches, 0.5, Clipping(1e-6))


def units(weights, num_blocks=3):
    names = [f"blocks.{number}" for number in range(num_blocks)]
    owned = {name: tuple(w for w in weights if w.startswith(f"{name}.")) for name in names}
    rest = tuple(weight for weight in weights if not weight.startswith("blocks."))
    root = Unit(("",), rest, False)
    return (root, *(Unit((name,), parameters, True) for name, parameters in owned.items()))


def observation(whole, rank, **changes):
    shards = shards_of_rank(whole, rank)
    made = units(whole)
    seen = Observation(
        returned="Module",
        is_in_place=True,
        weights=shards,
        held_bytes=sum(shard.storage_bytes for shard in shards.values()),
        blocks=tuple(unit.modules[0] for unit in made[1:]),
        units=made,
        loss=1.0,
    )
    return replace(seen, **changes)


def judge_one(whole, rank, **changes):
    seen = [observation(whole, r, **(changes if r == rank else {})) for r in range(WORLD_SIZE)]
    failure = judge_sharding.judge_structure(seen, whole)
    return None if failure is None else (failure.mistake, failure.where)


def test_a_right_structure_passes(weights):
    assert judge_one(weights, 0) is None


@pytest.mark.parametrize("rank", range(WORLD_SIZE))
def test_a_second_copy_on_any_one_rank_is_found(weights, rank):
    whole = sum(weight.numel() * 8 for weight in weights.values())
    mistake, where = judge_one(weights, rank, held_bytes=whole)
    assert mistake is Mistake.REPLICATED
    assert f"rank {rank}" in where


def test_a_dtensor_that_lies_about_its_rows_is_found(weights):
    shards = shards_of_rank(weights, 1)
    shards["norm.weight"] = shard_of("norm.weight", weights["norm.weight"], 0)
    shards["norm.weight"] = replace(shards["norm.weight"], local=torch.zeros(7))
    assert judge_one(weights, 1, weights=shards)[0] is Mistake.SHARDED_STATE_CORRUPT


def test_rows_of_another_shape_are_found(weights):
    shards = shards_of_rank(weights, 1)
    shards["head.weight"] = replace(shards["head.weight"], local=weights["head.weight"])
    assert judge_one(weights, 1, weights=shards)[0] is Mistake.WRONG_SHARD


def test_a_sharded_copy_on_any_one_rank_is_found(weights):
    assert judge_one(weights, 1, is_in_place=False) == (Mistake.NOT_IN_PLACE, "rank 1")


def test_columns_instead_of_rows_are_found(weights):
    shards = shards_of_rank(weights, 0)
    shards["head.weight"] = replace(shards["head.weight"], placements=("S(1)",))
    assert judge_one(weights, 0, weights=shards)[0] is Mistake.WRONG_SHARD


def test_a_part_of_the_ranks_is_no_sharding(weights):
    shards = shards_of_rank(weights, 0)
    shards["head.weight"] = replace(shards["head.weight"], mesh=[0, 1])
    assert judge_one(weights, 0, weights=shards)[0] is Mistake.REPLICATED


def test_a_block_that_stays_whole_after_its_forward_is_found(weights):
    root, first, *rest = units(weights)
    kept = replace(first, is_resharded=False)
    assert judge_one(weights, 0, units=(root, kept, *rest))[0] is Mistake.NOT_RESHARDED
    assert judge_one(weights, 0, units=(replace(root, is_resharded=True), first, *rest)) is None


def test_two_blocks_in_one_unit_are_found(weights):
    root, first, second, *rest = units(weights)
    both = Unit(first.modules + second.modules, first.parameters + second.parameters, True)
    assert judge_one(weights, 0, units=(root, both, *rest))[0] is Mistake.BLOCK_NOT_WRAPPED


def test_a_step_without_collectives_is_found(weights, truths):
    gradients = [shards_of_rank(truths[0].gradients, rank) for rank in range(WORLD_SIZE)]
    seen = [
        observation(weights, rank, gradients=gradients[rank], loss=truths[0].loss)
        for rank in range(WORLD_SIZE)
    ]
    marks = [
        Mark(rank, name, time_s)
        for time_s, name in enumerate(("forward", "backward", "end"))
        for rank in range(WORLD_SIZE)
    ]
    failure = judge_sharding.judge_step(seen, Ledger(marks=marks), truths[0], CASE)
    assert failure.mistake is Mistake.WRONG_COLLECTIVES


def test_collectives_of_the_default_wrapping(weights):
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    forward, backward = expected_collectives(units(weights), shapes, (), WORLD_SIZE)
    assert forward.total() == 3 + 1  # num_blocks and the root
    assert sum(n for (op, _), n in backward.items() if op == "all_gather") == 3
    assert sum(n for (op, _), n in backward.items() if op == "reduce_scatter") == 3 + 1
    assert expected_collectives(units(weights), shapes, (), 1) == ({}, {})


# -- steps ----------------------------------------------------------------------------------------


def steps_seen(truths, factor=1.0, **changes):
    def seen(rank, step, truth):
        gradients = {name: factor * truth.clip_factor * g for name, g in truth.gradients.items()}
        arrived = [shards_of_rank(gradients, rank)]
        weights = shards_of_rank(truth.weights, rank)
        right = StepSeen("numbers", truth.loss, truth.grad_norm, arrived, weights)
        return replace(right, **changes) if (rank, step) == (2, 1) else right

    return [[seen(rank, step, t) for step, t in enumerate(truths)] for rank in range(WORLD_SIZE)]


def judge_steps(truths, **changes):
    failure = judge_step.judge_steps(steps_seen(truths, **changes), truths, max_norm=0.5)
    return None if failure is None else (failure.mistake, failure.where)


def test_right_steps_pass(truths):
    assert judge_steps(truths) is None


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ({"loss": float("nan")}, Mistake.WRONG_LOSS),
        ({"grad_norm": 0.5}, Mistake.WRONG_GRAD_NORM),
        ({"arrived": []}, Mistake.NO_STEP),
        ({"arrived": [{}]}, Mistake.WRONG_GRADIENT),  # on one rank alone
        ({"weights": {}}, Mistake.WRONG_WEIGHTS),
        ({"returned": "NoneType"}, Mistake.WRONG_RESULT),
        ({"returned": "(Tensor, float)"}, Mistake.NOT_A_NUMBER),
        ({"num_foreign": 2}, Mistake.FOREIGN_SAMPLES),
    ],
)
def test_a_single_rank_in_a_single_step_is_named(truths, changes, mistake):
    found, where = judge_steps(truths, **changes)
    assert found is mistake
    assert "rank 2" in where
    assert "step 1" in where


def test_a_loss_of_float32_precision_is_told_with_digits_that_differ(truths):
    [truth, *_] = truths
    loss = torch.tensor(truth.loss, dtype=torch.float32).item()
    failure = judge_step.judge_loss([loss] * WORLD_SIZE, truth)
    assert failure.mistake is Mistake.LOW_PRECISION
    assert failure.came not in failure.expected
    far = judge_step.judge_loss([truth.loss + 1e-4] * WORLD_SIZE, truth)
    assert far.mistake is Mistake.WRONG_LOSS


def test_swapped_numbers_are_told_only_where_every_rank_swaps(truths):
    [truth, *_] = truths
    swapped = {"loss": truth.grad_norm, "grad_norm": truth.loss}
    steps = [[replace(entry, **swapped) for entry in rank[:1]] for rank in steps_seen(truths)]
    assert judge_step.judge_steps(steps, truths[:1], 0.5).mistake is Mistake.SWAPPED
    steps[0] = steps_seen(truths)[0][:1]
    assert judge_step.judge_steps(steps, truths[:1], 0.5).mistake is Mistake.WRONG_LOSS


def test_a_gradient_off_by_a_hair_is_found(truths):
    assert judge_steps(truths, factor=1 + 1e-9)[0] is Mistake.WRONG_GRADIENT
    assert judge_steps(truths, factor=1 + 1e-15) is None


def test_clipping_twice_moves_the_gradient_by_a_hair_and_is_accepted():
    twice = CLIPPINGS[-1].factor(4.0, max_norm=0.5)
    assert twice != CLIPPINGS[0].factor(4.0, max_norm=0.5)
    assert twice == pytest.approx(0.125, rel=1e-5)
    assert all(clipping.factor(0.4, max_norm=0.5) == 1 for clipping in CLIPPINGS)


def test_a_failure_that_only_one_way_of_clipping_gets_to_is_the_one_told():
    mistakes = [Mistake.WRONG_GRADIENT, Mistake.WRONG_GRADIENT, Mistake.NORM_AFTER_CLIP]
    failures = {c: Failure(mistake=m) for c, m in zip(CLIPPINGS, mistakes, strict=True)}
    told = judge_step.judge_any_clipping(failures.__getitem__)
    assert told.mistake is Mistake.NORM_AFTER_CLIP
    assert judge_step.judge_any_clipping({**failures, CLIPPINGS[1]: None}.__getitem__) is None


def test_a_nan_is_a_difference(weights):
    shards = [shards_of_rank(weights, rank) for rank in range(WORLD_SIZE)]
    shards[1]["norm.weight"].local[2] = float("nan")
    difference = find_difference(shards, weights)
    assert (difference.rank, difference.name, difference.row) == (1, "norm.weight", 9)


def test_cases_cover_the_traps():
    assert {case.world_size for case in CASES} == {1, 2, 3, 4}
    assert any(case.model.get("tied") for case in CASES)
    assert any(case.frozen for case in CASES)
    shapes = [tuple(w.shape) for case in CASES for w in case.new_model().parameters()]
    assert chunk_rows(6, 3, 4) == (6, 6)
    assert (6,) in shapes  # on 4 ranks: the last one holds nothing
    assert isinstance(CASES[0], Case)
