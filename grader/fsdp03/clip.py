"""Step 6: clip by the norm of the whole gradient, of which each rank holds some rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import torch.distributed as dist
from torch import nn

import sandbox
from grader.cases import CASES, Case, new_sharded
from grader.fsdp03.exercise import Check
from grader.fsdp03.one_number import judge_sent
from grader.judge_step import judge_any_clipping, judge_gradients, judge_norm
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.plain import as_number
from grader.shards import Shard, shards_of
from grader.truth import Clipping, StepTruth, train
from grader.verdict import Failure
from sandbox import toys

Clip = Callable[[Iterable[nn.Parameter], float], float]
# What to do where this is written by hand, not left to torch.
NEXT_STEPS = {
    Mistake.LOCAL_GRAD_NORM: "all_reduce the sum of squares of this rank's part; then the root",
    Mistake.WRONG_GRAD_NORM: "add up squares over all gradients and ranks; the root comes last",
    Mistake.LOW_PRECISION: "keep the dtype of the gradients: no .float(), no new torch.zeros(1)",
    Mistake.NOT_CLIPPED: "change the gradients themselves, in place: gradient.mul_(…)",
}
MAX_NORMS = (0.5, 16.0)  # one that shortens every gradient here, one that shortens none


@dataclass(frozen=True)
class Clipped:
    """What one rank returned, and its gradients after that."""

    returned: float | str
    gradients: dict[str, Shard] = field(default_factory=dict)


def check_clip_by_global_norm(clip_by_global_norm: Clip) -> None:
    """Judge `clip_by_global_norm(parameters, max_norm) -> norm`."""
    proof = "one norm on every rank, equal to one process's to 1e-12, on 1, 2, 3 and 4 ranks"
    with Check("clip_by_global_norm", proof, clip_by_global_norm) as check:
        for case in CASES:
            run = check.launch(
                observe, clip_by_global_norm, case, world_size=case.world_size, case=case.text
            )
            largest = max(parameter.nbytes for parameter in case.new_model().parameters())
            for number, max_norm in enumerate(MAX_NORMS):
                check.judge(judge([seen[number] for seen in run.results], case, max_norm))
                # Two marks per limit: what lies between them is the answer's.
                sent = [run.ledger.phases(rank)[2 * number + 1] for rank in range(case.world_size)]
                check.judge(judge_sent(sent, largest))


def observe(clip: Clip, case: Case) -> list[Clipped]:
    """Compute the gradients of one step and clip them, once per limit."""
    model, _ = new_sharded(case)
    tokens = case.tokens(0, dist.get_rank()).to(sandbox.device())
    seen = []
    for max_norm in MAX_NORMS:
        model.zero_grad()
        toys.next_token_loss(model(tokens), tokens).backward()
        sandbox.mark("clip")
        returned = as_number(clip(model.parameters(), max_norm))
        sandbox.mark("end")
        gradients = shards_of((name, weight.grad) for name, weight in model.named_parameters())
        seen.append(Clipped(returned, gradients))
    return seen


def judge(seen: Sequence[Clipped], case: Case, max_norm: float) -> Failure | None:
    """Judge the norm that every rank returned, then the gradients."""
    norms = []
    for rank, entry in enumerate(seen):
        if isinstance(entry.returned, str):
            return Failure(
                mistake=Mistake.WRONG_RESULT,
                expected="the norm before clipping, a float",
                came=entry.returned,
                where=f"rank {rank}",
            )
        norms.append(entry.returned)
    gradients = [entry.gradients for entry in seen]

    def judge_by(clipping: Clipping) -> Failure | None:
        batch = [case.global_tokens(0)]
        [truth] = train(case.new_model(), 0.0, batch, max_norm, clipping)
        return (
            judge_norm(norms, truth)
            or _judge_lengthened(gradients, truth, max_norm)
            or judge_gradients(gradients, [truth], max_norm)
        )

    failure = judge_any_clipping(judge_by)
    return failure and replace(failure, next_step=NEXT_STEPS.get(failure.mistake, ""))


def _judge_lengthened(
    gradients: Sequence[dict[str, Shard]], truth: StepTruth, max_norm: float
) -> Failure | None:
    """Find gradients that were scaled to the norm max_norm though they were shorter."""
    factor = max_norm / truth.grad_norm
    if factor <= 1 or find_difference(gradients, truth.gradients) is None:
        return None
    if find_difference(gradients, truth.gradients, factor) is None:
        return Failure(
            mistake=Mistake.CLIPPED_UP,
            expected=f"gradients with norm {truth.grad_norm:.6g} left as they are",
            came=f"scaled to norm {max_norm:g}",
            where="every rank",
        )
    return None
