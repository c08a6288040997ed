"""Judge asynchronous saves by what was seen of them."""

from collections.abc import Sequence
from dataclasses import replace

from grader.fsdp04.async_watch import HELD_STEP, NUM_STEPS_MEANWHILE, Seen
from grader.fsdp04.judge_state import judge_state
from grader.fsdp04.state import Snapshot, Truth
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.verdict import Failure


def judge(seen: Sequence[Seen], truths: Sequence[Truth]) -> Failure | None:
    """Judge what the ranks saw, in the order in which it happened; `truths` by step."""
    for judge_rank in (_judge_form, _judge_meanwhile, _judge_rest):
        for rank, entry in enumerate(seen):
            if failure := judge_rank(entry):
                return replace(failure, where=f"rank {rank} of {len(seen)}")
        loaded = [entry.loaded for entry in seen if entry.loaded is not None]
        if judge_rank is _judge_meanwhile and (failure := judge_loaded(loaded, truths)):
            return failure
    return None


def _judge_form(seen: Seen) -> Failure | None:
    if seen.returned != "future":
        expected = "a Future: something with done() and result()"
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=seen.returned)
    if seen.uses_training_group:
        return Failure(
            mistake=Mistake.ASYNC_ON_TRAINING_GROUP,
            expected="the thread's collectives on `group`",
            came="one on the default group, on which the model trains",
        )
    if seen.first is None:
        return Failure(
            mistake=Mistake.ASYNC_NOT_COMMITTED,
            expected="a complete checkpoint once result() has returned",
            came="latest_complete finds none",
        )
    return None


def _judge_meanwhile(seen: Seen) -> Failure | None:
    """Judge what was seen while the writing was held."""
    if seen.has_waited:
        return Failure(
            mistake=Mistake.ASYNC_SAVE_BLOCKS,
            expected="save_async returns while its files are still being written",
            came="it returned when they were written",
        )
    if seen.is_idle:
        return Failure(
            mistake=Mistake.ASYNC_NOT_COMMITTED,
            expected="a thread that writes, from the call on",
            came="nothing was written",
        )
    if seen.is_done_early or seen.meanwhile != seen.first:
        early = "its Future is done" if seen.is_done_early else "latest_complete finds it"
        return Failure(
            mistake=Mistake.ASYNC_COMMITTED_EARLY,
            expected=f"{seen.first} stays the newest until the next is written",
            came=f"{early} in the middle of the writing" if seen.meanwhile else "no checkpoint",
        )
    if seen.second in (None, seen.first):
        is_torn = seen.second is None
        return Failure(
            mistake=Mistake.ASYNC_NOT_COMMITTED,
            expected="the second checkpoint is the newest once result() has returned",
            came="no complete checkpoint" if is_torn else f"{seen.second}, the first",
        )
    if seen.is_second_at_result:
        return Failure(
            mistake=Mistake.ASYNC_COMMITTED_LATE,
            expected="a complete checkpoint when the Future is done",
            came="it was completed by result()",
        )
    return None


def judge_loaded(loaded: Sequence[Snapshot], truths: Sequence[Truth]) -> Failure | None:
    """Judge that what was loaded is what the state held at the call."""
    failure = loaded and judge_state([loaded], [truths[HELD_STEP]], HELD_STEP)
    if not failure:
        return None
    later = truths[HELD_STEP + NUM_STEPS_MEANWHILE]
    if not any(_is_of(loaded, later, name) for name in later.weights):
        return failure
    return replace(
        failure,
        mistake=Mistake.ASYNC_SNAPSHOT_RACE,
        expected="the state when save_async was called",
        came=f"a part of it is that of {NUM_STEPS_MEANWHILE} steps later",
    )


def _is_of(loaded: Sequence[Snapshot], truth: Truth, name: str) -> bool:
    shards = [{name: rank.weights[name]} for rank in loaded]
    return find_difference(shards, {name: truth.weights[name]}) is None


def _judge_rest(seen: Seen) -> Failure | None:
    """Judge two saves in a row, and one that fails."""
    if seen.has_overlapped:
        return Failure(
            mistake=Mistake.ASYNC_NOT_WAITED,
            expected="a save begins when `previous` is done",
            came="it wrote while the one before was still being written",
        )
    if seen.fourth is None:
        return None
    if seen.fourth in (seen.first, seen.second):
        return Failure(
            mistake=Mistake.ASYNC_NOT_COMMITTED,
            expected="of two saves in a row the second is the newest",
            came=seen.fourth,
        )
    if seen.failed_quietly or seen.after_failure != seen.fourth:
        return Failure(
            mistake=Mistake.ASYNC_ERROR_LOST,
            expected=f"result() raises when the disk is full, and {seen.fourth} stays the newest",
            came="it returned" if seen.failed_quietly else f"{seen.after_failure}",
        )
    return None
