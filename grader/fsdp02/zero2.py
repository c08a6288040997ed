"""Step 3: ZeRO-2, where gradients are reduced bucket by bucket as backward goes, and freed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import nn

import sandbox
from grader.cases import CASES, Case
from grader.fsdp02 import judge_training as judges
from grader.fsdp02.exercise import Check
from grader.fsdp02.training import (
    LEARNING_RATE,
    Seen,
    describe_pair,
    last_micro_gradients,
    observe_steps,
    truths_of,
)
from grader.held import live_storages
from grader.mistakes import Mistake
from grader.verdict import Failure

MakeBuckets = Callable[[Iterable[nn.Parameter], int], list[list[nn.Parameter]]]
NUM_MICRO_BATCHES = 2
CAPS = (1, 640, 1_100, 10**9)  # one parameter per bucket; exactly two; a matrix and more; all


def check_zero2(
    make_buckets: MakeBuckets,
    reduce_gradients: Callable[[Any], None],
    zero2_step: Callable[[list[Any], torch.optim.Optimizer], None],
    zero2_init: Callable[..., tuple[list[Any], torch.optim.Optimizer]],
) -> None:
    """Judge the buckets, then training with two micro-batches per step on 1 to 4 ranks."""
    proof = (
        "after backward a rank holds its partition of the gradients and not a byte more; two\n"
        "  micro-batches per step equal one-process AdamW to 1e-12: on 1, 2, 3 and 4 ranks"
    )
    with Check("zero2", proof, make_buckets, reduce_gradients, zero2_step) as check:
        run = check.launch(observe_buckets, make_buckets, world_size=1)
        for cap, answer in zip(CAPS, run.results[0], strict=True):
            check.judge(judge_buckets(answer, cap))
        for case in CASES:
            answers = (zero2_init, zero2_step)
            run = check.launch(
                observe, *answers, case, world_size=case.world_size, memory=True, case=case.text
            )
            check.judge(judges.judge_returned(run.results, "(buckets, optimizer)"))
            check.judge(judges.judge_layouts(run.results))
            layout = run.results[0].layout
            truths = truths_of(case, NUM_MICRO_BATCHES)
            last = last_micro_gradients(case, NUM_MICRO_BATCHES)
            check.judge(judges.judge_numbers(run.results, truths, case, last))
            check.judge(judges.judge_gradient_bytes(run.memory, layout, case.world_size))
            check.judge(judges.judge_moments(run.memory, layout, case.world_size, copies=1))
            numel = sum(layout.numels)
            expected = {"reduce_scatter": NUM_MICRO_BATCHES * numel, "all_gather": numel}
            check.judge(judges.judge_traffic(run.ledger, case.world_size, expected))
            check.judge(judges.judge_copies(run.results, layout))


def observe_buckets(make_buckets: MakeBuckets) -> list[list[list[int]] | str]:
    """Return the buckets for each cap, as places in the list of parameters given."""
    parameters = _parameters()
    places = {id(parameter): place for place, parameter in enumerate(parameters)}
    # Once through, as model.parameters() is in the notebook.
    return [_as_places(make_buckets((p for p in parameters), cap), places) for cap in CAPS]


def _parameters() -> list[nn.Parameter]:
    return [p for p in CASES[2].new_model().parameters() if p.requires_grad]


def _as_places(answer: Any, places: dict[int, int]) -> list[list[int]] | str:
    if not isinstance(answer, list | tuple) or not all(
        isinstance(bucket, list | tuple) for bucket in answer
    ):
        return "None" if answer is None else f"a {type(answer).__name__}, not of lists"
    return [[places.get(id(parameter), -1) for parameter in bucket] for bucket in answer]


def observe(zero2_init: Callable, zero2_step: Callable, case: Case) -> Seen:
    """Train some steps with two micro-batches each, in buckets of about a third of a block."""
    before = live_storages()
    model = case.new_model().to(sandbox.device())
    parameters = [p for p in model.parameters() if p.requires_grad]
    cap = max(sum(p.numel() for p in parameters) // 6, 1)
    pair = zero2_init((p for p in parameters), LEARNING_RATE, cap)
    if returned := describe_pair(pair, "flats"):
        return Seen(returned)
    buckets, optimizer = pair

    def step() -> None:
        zero2_step(buckets, optimizer)

    return observe_steps(model, buckets, optimizer, step, case, before, NUM_MICRO_BATCHES)


def judge_buckets(answer: list[list[int]] | str, cap: int) -> Failure | None:
    """Judge that buckets take the parameters from the last to the first, filled up to `cap`."""
    numels = [parameter.numel() for parameter in _parameters()]
    expected = _buckets(numels, cap)
    if answer == expected:
        return None
    if isinstance(answer, str):
        return Failure(mistake=Mistake.WRONG_RESULT, expected="a list of lists", came=answer)
    order = [place for bucket in answer for place in bucket]
    if sorted(order) != list(range(len(numels))):
        mistake = Mistake.PARAMETERS_LOST
    elif order != list(reversed(range(len(numels)))):
        mistake = Mistake.NOT_REVERSED
    else:
        mistake = Mistake.BUCKETS_UNEVEN
    return Failure(
        mistake=mistake,
        expected=f"buckets of parameters {_list(expected)}",
        came=_list(answer),
        where=f"{len(numels)} parameters, bucket_cap_numel={cap:,}",
    )


def _buckets(numels: Sequence[int], cap: int) -> list[list[int]]:
    buckets: list[list[int]] = []
    left = 0
    for place in reversed(range(len(numels))):
        if not buckets or numels[place] > left:
            buckets.append([])
            left = cap
        buckets[-1].append(place)
        left -= numels[place]
    return buckets


def _list(buckets: Sequence[Sequence[int]]) -> str:
    shown = ", ".join(str(list(bucket)) for bucket in buckets[:4])
    return f"{shown}{', …' if len(buckets) > 4 else ''}"
