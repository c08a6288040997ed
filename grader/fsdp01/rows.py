"""Step 1: which rows of a parameter each rank holds."""

import contextlib
import itertools
import operator
from collections import Counter
from collections.abc import Callable, Sequence

from grader import verdict
from grader.fsdp01.exercise import Check
from grader.mistakes import Mistake
from grader.shards import chunk_rows
from grader.verdict import Failure
from sandbox.failure import count_ranks
from sandbox.pictures.shard_picture import ShardPicture

NUM_ROWS = (12, 5, 13, 6, 9, 1, 3)
WORLD_SIZES = (2, 3, 4, 5, 1)
CASES = [(num_rows, world_size) for num_rows in NUM_ROWS for world_size in WORLD_SIZES]
MAX_ROW = 10**12
MAX_DRAWN_ROW = 1_000

Rows = Callable[[int, int, int], tuple[int, int]]
Answer = tuple[int, int] | str  # (first, stop), or what came instead


def check_rows_of_rank(rows_of_rank: Rows) -> None:
    """Judge `rows_of_rank(num_rows, rank, world_size) -> (first, stop)`."""
    proof = f"right for {len(CASES)} combinations of rows and ranks, ranks without rows among them"
    with Check("rows_of_rank", proof, rows_of_rank) as check:
        check.judge(judge_rows(check.launch(observe_rows, rows_of_rank, world_size=1).results[0]))


def observe_rows(rows_of_rank: Rows) -> list[list[Answer]]:
    """Return every rank's answer for every case."""
    return [
        [_as_rows(rows_of_rank(num_rows, rank, world_size)) for rank in range(world_size)]
        for num_rows, world_size in CASES
    ]


def _as_rows(answer: object) -> Answer:
    if isinstance(answer, tuple | list) and len(answer) == 2:
        with contextlib.suppress(TypeError):  # no integers: shown as they are
            first, stop = operator.index(answer[0]), operator.index(answer[1])
            if max(abs(first), abs(stop)) <= MAX_ROW:
                return first, stop
            return f"numbers beyond {MAX_ROW}"
    return repr(answer)[:80]


def judge_rows(answers: list[list[Answer]]) -> Failure | None:
    """Compare with torch.chunk's rule; an empty range may be written in any way."""
    for (num_rows, world_size), rows in zip(CASES, answers, strict=True):
        expected = [chunk_rows(num_rows, rank, world_size) for rank in range(world_size)]
        failure = _judge_case(num_rows, expected, rows)
        if failure is not None:
            return failure
    return None


def _judge_case(
    num_rows: int, expected: list[tuple[int, int]], rows: list[Answer]
) -> Failure | None:
    where = f"{num_rows} rows on {count_ranks(len(rows))}"
    for rank, answer in enumerate(rows):
        if not isinstance(answer, tuple):
            return Failure(
                mistake=Mistake.WRONG_RESULT,
                expected="a pair of ints: (first, stop)",
                came=answer,
                where=f"rank {rank}, {where}",
            )
    came = [answer for answer in rows if isinstance(answer, tuple)]
    if _held(came) == _held(expected):
        return None
    # Rows that do not exist count once per side, however many an answer names.
    held = [range(max(first, -1), min(stop, num_rows + 1)) for first, stop in came]
    mistake = _name_mistake(num_rows, held)
    takes_rest = _held(came) == _held(_rest_to_last(num_rows, len(came)))
    if takes_rest:
        mistake = Mistake.REST_TO_LAST_RANK
    elif len(came) > 1 and len(set(came)) == 1:
        mistake = Mistake.SAME_ROWS
    return Failure(mistake=mistake, expected=_text(expected), came=_text(came), where=where)


def _held(pairs: list[tuple[int, int]]) -> list[tuple[int, int] | None]:
    """Return the rows as (first, stop); None where there are none, in whatever way written."""
    return [(first, stop) if first < stop else None for first, stop in pairs]


def _rest_to_last(num_rows: int, world_size: int) -> list[tuple[int, int]]:
    share = num_rows // world_size
    firsts = [rank * share for rank in range(world_size)]
    return list(itertools.pairwise([*firsts, num_rows]))


def _text(pairs: list[tuple[int, int]]) -> str:
    return ", ".join(f"rank {rank}: {first}:{stop}" for rank, (first, stop) in enumerate(pairs))


def _name_mistake(num_rows: int, held: Sequence[range]) -> Mistake:
    holders = Counter(row for rows in held for row in rows)
    if holders.keys() - set(range(num_rows)):
        return Mistake.ROWS_BEYOND
    if any(count > 1 for count in holders.values()):
        return Mistake.ROWS_TWICE
    if set(range(num_rows)) - set(holders):
        return Mistake.ROWS_LOST
    return Mistake.BALANCED_SPLIT


def _is_small(pair: tuple[int, int]) -> bool:
    return max(map(abs, pair)) <= MAX_DRAWN_ROW


def draw_rows(rows_of_rank: Rows, num_rows: int, world_size: int) -> ShardPicture | None:
    """Return a picture of the rows that `rows_of_rank` gives each rank."""
    try:
        returned = [rows_of_rank(num_rows, rank, world_size) for rank in range(world_size)]
    except NotImplementedError:
        verdict.show(verdict.not_solved("draw_rows", "rows_of_rank"))
        return None
    answers = [_as_rows(pair) for pair in returned]
    pairs = [pair for pair in answers if isinstance(pair, tuple) and _is_small(pair)]
    if len(pairs) < len(answers):
        came = ", ".join(map(str, answers))
        verdict.show(f"Not drawn, since it takes pairs of rows up to {MAX_DRAWN_ROW:,}: {came}")
        return None
    placed = {row for pair in pairs for row in range(*pair)}
    existing = set(range(num_rows))
    if placed - existing:
        verdict.show(f"rows_of_rank names rows that do not exist; there are {num_rows}.")
    elif placed != existing:
        verdict.show(f"rows_of_rank places {len(placed)} of {num_rows} rows.")
    return ShardPicture([range(*pair) for pair in pairs])
