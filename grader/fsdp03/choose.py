"""Step 12: the cheapest policies that fit a budget of bytes; exhaustive search is the judge."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.fsdp03.exercise import Check
from grader.fsdp03.measure import Policies
from grader.mistakes import Mistake
from grader.verdict import Failure

Choose = Callable[[Policies, int, int, int], list[str] | None]


@dataclass(frozen=True)
class Problem:
    """Policies as name -> (bytes kept, FLOPs recomputed) of a block, and a budget."""

    policies: Policies
    num_blocks: int
    rest_bytes: int
    budget_bytes: int

    def nbytes(self, chosen: Sequence[str]) -> int:
        """Return the bytes of a choice, the rest included."""
        return self.rest_bytes + sum(self.policies[name][0] for name in chosen)

    def flops(self, chosen: Sequence[str]) -> int:
        """Return the FLOPs that a choice recomputes."""
        return sum(self.policies[name][1] for name in chosen)

    def cheapest(self) -> int | None:
        """Return the fewest FLOPs of any choice that fits; None where none does."""
        every = itertools.product(self.policies, repeat=self.num_blocks)
        fitting = [
            self.flops(chosen) for chosen in every if self.nbytes(chosen) <= self.budget_bytes
        ]
        return min(fitting, default=None)


# In the second the middle policy is never worth it alone; in the third greed goes wrong.
_KINDS: tuple[Policies, ...] = (
    {"keep all": (900, 0), "keep matmuls": (500, 40), "recompute all": (60, 300)},
    {"keep": (1000, 0), "half": (600, 350), "most": (300, 400), "none": (50, 1000)},
    {"a": (700, 10), "b": (450, 120), "c": (260, 170), "d": (80, 400)},
)
PROBLEMS = tuple(
    Problem(policies, num_blocks, rest_bytes, rest_bytes + budget)
    for policies, num_blocks, rest_bytes in zip(_KINDS, (4, 3, 5), (150, 0, 77), strict=True)
    for budget in (
        num_blocks * max(nbytes for nbytes, _ in policies.values()),
        num_blocks * min(nbytes for nbytes, _ in policies.values()),
        num_blocks * min(nbytes for nbytes, _ in policies.values()) - 1,
        round(0.42 * num_blocks * max(nbytes for nbytes, _ in policies.values())),
        round(0.66 * num_blocks * max(nbytes for nbytes, _ in policies.values())),
    )
)


def check_choose_policies(choose_policies: Choose) -> None:
    """Judge `choose_policies(policies, num_blocks, rest_bytes, budget_bytes) -> names or None`."""
    proof = f"as cheap as the cheapest of all choices, for {len(PROBLEMS)} budgets"
    with Check("choose_policies", proof, choose_policies) as check:
        answers = check.launch(observe, choose_policies, world_size=1).results[0]
        for came, problem in zip(answers, PROBLEMS, strict=True):
            check.judge(judge(came, problem))


def observe(choose: Choose) -> list[list[str] | str | None]:
    """Return the answer to every problem; what is neither None nor a sequence, as its type."""
    return [
        _as_names(choose(dict(p.policies), p.num_blocks, p.rest_bytes, p.budget_bytes))
        for p in PROBLEMS
    ]


def _as_names(answer: object) -> list[str] | str | None:
    if isinstance(answer, list | tuple):
        return [str(name) for name in answer]
    return None if answer is None else type(answer).__name__


def judge(came: list[str] | str | None, problem: Problem) -> Failure | None:
    """Judge a choice by its bytes and its FLOPs; any of equal cost is right."""
    cheapest = problem.cheapest()
    where = (
        f"{problem.num_blocks} blocks of {problem.policies}, {problem.rest_bytes:,} bytes of rest"
    )
    budget = f"at most {problem.budget_bytes:,} bytes"

    def fail(mistake: Mistake, expected: str, said: str) -> Failure:
        return Failure(mistake=mistake, expected=expected, came=said, where=where)

    if came is None:
        if cheapest is None:
            return None
        return fail(
            Mistake.GAVE_UP, f"{cheapest:,} FLOPs recomputed, {budget}", "None: nothing fits"
        )
    if isinstance(came, str) or not _is_choice(came, problem):
        said = came if isinstance(came, str) else str(came)
        return fail(Mistake.WRONG_RESULT, f"{problem.num_blocks} names of policies, or None", said)
    nbytes, flops = problem.nbytes(came), problem.flops(came)
    if nbytes > problem.budget_bytes:
        return fail(Mistake.BUDGET_EXCEEDED, budget, f"{nbytes:,} bytes: {', '.join(came)}")
    if flops > (math.inf if cheapest is None else cheapest):
        said = f"{flops:,} FLOPs recomputed: {', '.join(came)}"
        return fail(Mistake.NOT_THE_CHEAPEST, f"{cheapest:,} FLOPs recomputed, {budget}", said)
    return None


def _is_choice(came: Sequence[str], problem: Problem) -> bool:
    return len(came) == problem.num_blocks and set(came) <= problem.policies.keys()
