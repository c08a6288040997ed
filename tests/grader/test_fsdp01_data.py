"""fsdp01's judges of rows, sample ids and sizes, on made-up answers."""

import pytest

from grader import judge_samples
from grader.fsdp01 import padding, rows, samples
from grader.mistakes import Mistake
from grader.shards import chunk_rows, padded_numel

pytestmark = pytest.mark.fsdp01


def test_slices_of_any_cut_pass():
    interleaved = [[[0, 2, 4], [1, 3, 5]], [[5, 3, 1], [2, 4, 0]]]
    contiguous = [[[4, 1, 2], [0, 3, 5]], [[3, 1, 5], [4, 2, 0]]]
    assert samples.judge_slices(interleaved, 6) is None
    assert samples.judge_slices(contiguous, 6) is None


def test_ids_out_of_range_are_found():
    assert judge_samples.judge_epoch([[0, 1], [2, 4]], 4).mistake is Mistake.SAMPLES_LOST


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
    assert rows.judge_rows(right).mistake is Mistake.SAME_ROWS
    right[first_of_two] = [(0, 10**12), (5, 10**12)]
    assert rows.judge_rows(right).mistake is Mistake.ROWS_BEYOND


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (lambda n, rank, w: (rank * 2, rank * 2 + 2), "rows_of_rank names rows that do not exist"),
        (lambda n, rank, w: (rank, rank + 1), "rows_of_rank places 4 of 5 rows."),
        (chunk_rows, ""),
    ],
)
def test_a_picture_of_wrong_rows_says_so(cut, said, capsys):
    assert rows.draw_rows(cut, num_rows=5, world_size=4) is not None
    out = capsys.readouterr().out
    assert out.startswith(said)
    assert out.count("\n") == bool(said)


def test_padding_is_judged_case_by_case():
    right = [padded_numel(*case) for case in padding.CASES]
    assert padding.judge(right) is None
    assert padding.judge([*right[:-1], right[-1] + 1]).mistake is Mistake.ESTIMATE_WRONG
    failure = padding.judge([1200.0, *right[1:]])
    assert (failure.expected, failure.came) == ("48", "1,200")
    assert padding.judge([1200.5, *right[1:]]).came == "1,200.5"
    assert padding.judge(["NoneType"] * len(right)).mistake is Mistake.WRONG_RESULT
