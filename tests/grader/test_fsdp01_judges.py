"""fsdp01's judges, on made-up observations: facts decide, whatever a rank says of itself."""

from dataclasses import replace

import pytest
import torch

from grader import storage
from grader.fsdp01 import judge_loop, judge_sharding, judge_step, padding, rows, samples
from grader.fsdp01.cases import CASES, Case
from grader.fsdp01.judge_step import StepSeen
from grader.fsdp01.shard_model import Observation
from grader.fsdp01.truth import CLIPPINGS, Clipping, train, weights_of
from grader.fsdp01.units import Unit, expected_collectives
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.shards import Shard, chunk_rows, padded_numel
from grader.verdict import Failure
from sandbox.event import Event, Op
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
        Event(rank=r, seq=n, op=Op.BARRIER, group=(0, 1, 2), numel=0, dtype="", nbytes=0, start_s=n)
        for n in range(3)
        for r in range(WORLD_SIZE)
    ]
    failure = judge_sharding.judge_step(seen, Ledger(marks), truths[0], CASE)
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
    ],
)
def test_a_single_rank_in_a_single_step_is_named(truths, changes, mistake):
    found, where = judge_steps(truths, **changes)
    assert found is mistake
    assert "rank 2" in where
    assert "step 1" in where


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


# -- data, reports, sizes -----------------------------------------------------------------------


def test_slices_of_any_cut_pass():
    interleaved = [[[0, 2, 4], [1, 3, 5]], [[5, 3, 1], [2, 4, 0]]]
    contiguous = [[[4, 1, 2], [0, 3, 5]], [[3, 1, 5], [4, 2, 0]]]
    assert samples.judge_slices(interleaved, 6) is None
    assert samples.judge_slices(contiguous, 6) is None


def test_ids_out_of_range_are_found():
    assert samples.judge_epoch([[0, 1], [2, 4]], 4).mistake is Mistake.SAMPLES_LOST


def test_an_empty_range_may_be_written_in_any_way():
    answers = [
        [chunk_rows(n, rank, world_size) for rank in range(world_size)]
        for n, world_size in rows.CASES
    ]
    assert rows.judge_rows(answers) is None
    beyond = [[(a, b) if a < b else (99, 98) for a, b in entry] for entry in answers]
    assert rows.judge_rows(beyond) is None


def test_the_rest_given_to_the_last_rank_has_a_name_of_its_own():
    def judged(cut):
        answers = [[cut(n, rank, w) for rank in range(w)] for n, w in rows.CASES]
        return rows.judge_rows(answers).mistake

    def balanced(n, rank, w):
        return n * rank // w, n * (rank + 1) // w

    def rest_to_last(n, rank, w):
        return n // w * rank, n if rank == w - 1 else n // w * (rank + 1)

    assert judged(balanced) is Mistake.BALANCED_SPLIT
    assert judged(rest_to_last) is Mistake.REST_TO_LAST_RANK


@pytest.mark.parametrize("pair", [(0, 10**12), (-(10**12), 3), None])
def test_rows_that_nobody_can_draw_are_told_in_one_line(pair, capsys):
    assert rows.draw_rows(lambda *_: pair, num_rows=5, world_size=2) is None
    out = capsys.readouterr().out
    assert out.startswith("Not drawn")
    assert str(pair) in out or "numbers beyond" in out
    assert out.count("\n") == 1


def test_huge_ranges_are_compared_without_counting_them():
    answers = [[(0, 10**12)] * world_size for _, world_size in rows.CASES]
    right = [[chunk_rows(n, rank, w) for rank in range(w)] for n, w in rows.CASES]
    first_of_two = next(i for i, (_, world_size) in enumerate(rows.CASES) if world_size == 2)
    right[first_of_two] = answers[first_of_two]
    assert rows.judge_rows(right).mistake is Mistake.ROWS_TWICE
    assert rows.judge_rows(answers).mistake is Mistake.WRONG_RESULT


def test_padding_is_judged_case_by_case():
    right = [padded_numel(*case) for case in padding.CASES]
    assert padding.judge(right) is None
    assert padding.judge([*right[:-1], right[-1] + 1]).mistake is Mistake.ESTIMATE_WRONG
    failure = padding.judge([1200.0, *right[1:]])
    assert (failure.expected, failure.came) == ("48", "1,200")
    assert padding.judge([1200.5, *right[1:]]).came == "1,200.5"
    assert padding.judge(["NoneType"] * len(right)).mistake is Mistake.WRONG_RESULT


def epoch_with(reports, num_checkpoints=1):
    return judge_loop.Epoch([[]] * len(reports), reports, num_checkpoints)


REPORT = {"epoch": 0, "loss": 4.0, "grad_norm": 1.0}


@pytest.mark.parametrize(
    ("reports", "num_checkpoints", "mistake"),
    [
        ([[REPORT], [REPORT]], 1, None),
        ([[REPORT], []], 1, Mistake.RANK0_ONLY_REPORT),
        ([[], []], 1, Mistake.METRIC_MISSING),
        ([[REPORT], [{**REPORT, "loss": "Tensor"}]], 1, Mistake.METRIC_MISSING),
        ([[REPORT], [{**REPORT, "epoch": 1}]], 1, Mistake.METRIC_MISSING),
        ([[REPORT], [REPORT]], 0, Mistake.NO_CHECKPOINT),
    ],
)
def test_reports_are_judged_on_every_rank(reports, num_checkpoints, mistake):
    failure = judge_loop.judge_reports(epoch_with(reports, num_checkpoints), number=0)
    assert (failure and failure.mistake) is mistake


def test_a_resume_that_raises_is_blamed_on_ranks_that_handed_over_nothing(tmp_path):
    for rank in range(3):
        storage.write_report(tmp_path, rank, REPORT, has_checkpoint=rank == 0)
    assert storage.ranks_without_checkpoint(tmp_path, 3) == [1, 2]
    assert storage.read_reports(tmp_path, 3) == [[REPORT]] * 3
    raised = Failure(mistake=Mistake.RAISED, came="FileNotFoundError: no __1_0.distcp")
    failure = judge_loop.lost_checkpoint([1, 2], raised)
    assert failure.mistake is Mistake.RANK0_ONLY_CHECKPOINT
    assert failure.came == "none from ranks 1, 2; to resume raised FileNotFoundError"
    storage.clear_reports(tmp_path)
    assert storage.ranks_without_checkpoint(tmp_path, 3) == []


def test_cases_cover_the_traps():
    assert {case.world_size for case in CASES} == {1, 2, 3, 4}
    assert any(case.model.get("tied") for case in CASES)
    assert any(case.frozen for case in CASES)
    shapes = [tuple(w.shape) for case in CASES for w in case.new_model().parameters()]
    assert chunk_rows(6, 3, 4) == (6, 6)
    assert (6,) in shapes  # on 4 ranks: the last one holds nothing
    assert isinstance(CASES[0], Case)
