"""Step 1: how many weights an update does not move, since the sum rounds back to the weight."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.fsdp03.exercise import Check
from grader.mistakes import Mistake
from grader.plain import as_number
from grader.verdict import Failure

LostUpdates = Callable[[Tensor, Tensor, torch.dtype], int]

NUM_WEIGHTS = 4_000


@dataclass(frozen=True)
class Case:
    """Weights of one size, updates of another, and the dtype that both are stored in."""

    dtype: torch.dtype
    update_size: float
    seed: int

    def tensors(self) -> tuple[Tensor, Tensor]:
        """Return weights and updates in fp32; some are 0, none is near a tie."""
        generator = torch.Generator().manual_seed(self.seed)
        weights = torch.randn(NUM_WEIGHTS, generator=generator)
        weights[:400] = torch.round(8 * weights[:400]) / 8 + 2  # exact in every format
        updates = self.update_size * torch.randn(NUM_WEIGHTS, generator=generator)
        updates[torch.rand(NUM_WEIGHTS, generator=generator) < 0.1] = 0.0
        half_gap = half_gap_towards(weights.to(self.dtype), updates)
        is_near_tie = (updates.abs() / half_gap - 1).abs() < 0.02
        return weights[~is_near_tie].clone(), updates[~is_near_tie].clone()

    @property
    def text(self) -> str:
        """Return "updates of about 0.001 in bfloat16"."""
        return f"updates of about {self.update_size:g} in {str(self.dtype).removeprefix('torch.')}"


CASES = (
    Case(torch.bfloat16, 1e-3, seed=1),
    Case(torch.bfloat16, 1e-2, seed=2),
    Case(torch.float16, 1e-4, seed=3),
    Case(torch.float32, 1e-7, seed=4),
)


def half_gap_towards(stored: Tensor, updates: Tensor) -> Tensor:
    """Return half the distance to the next number of the format, in the updates' direction.

    A sum that ends nearer to the stored number than this is rounded back to it.
    """
    direction = torch.where(updates < 0, -torch.inf, torch.inf).to(stored.dtype)
    neighbour = torch.nextafter(stored, direction)
    return (neighbour.double() - stored.double()).abs() / 2


def true_count(case: Case) -> int:
    """Return the number of updates that are not 0 and are smaller than half the gap."""
    weights, updates = case.tensors()
    half_gap = half_gap_towards(weights.to(case.dtype), updates)
    return int(((updates != 0) & (updates.abs() < half_gap)).sum())


def check_lost_updates(lost_updates: LostUpdates) -> None:
    """Judge `lost_updates(weights, updates, dtype) -> int`."""
    proof = "right for bf16, fp16 and fp32: an update below half the gap to the next number is lost"
    with Check("lost_updates", proof, lost_updates) as check:
        check.judge(judge(check.launch(observe, lost_updates, world_size=1).results[0]))


def observe(lost_updates: LostUpdates) -> list[float | str]:
    """Return the answer for every case; what is no number as the name of its type."""
    return [as_number(lost_updates(*case.tensors(), case.dtype)) for case in CASES]


def judge(answers: Sequence[float | str]) -> Failure | None:
    """Compare with the counts by the gaps; name the usual ways of getting it wrong."""
    for number, (case, came) in enumerate(zip(CASES, answers, strict=True)):
        expected = true_count(case)
        if came == expected:
            continue
        mistake = Mistake.WRONG_RESULT if isinstance(came, str) else _name(case, came, number)
        return Failure(
            mistake=mistake,
            expected=f"{expected:,}",
            came=came if isinstance(came, str) else f"{came:,.0f}",
            where=case.text,
        )
    return None


def _name(case: Case, came: float, number: int) -> Mistake:
    weights, updates = case.tensors()
    stored = weights.to(case.dtype)
    is_nonzero = updates != 0
    new = stored + updates.to(case.dtype)
    known = {
        Mistake.SUM_PROMOTED: is_nonzero & (stored + updates == stored),
        Mistake.ZEROS_COUNTED: new == stored,
        Mistake.NOT_THE_STORED_WEIGHT: is_nonzero & (new == weights),
    }
    named = [mistake for mistake, mask in known.items() if came == int(mask.sum())]
    if number and came == _count_in(torch.bfloat16, weights, updates):
        return Mistake.DTYPE_IGNORED
    return named[0] if named else Mistake.WRONG_COUNT


def _count_in(dtype: torch.dtype, weights: Tensor, updates: Tensor) -> int:
    stored = weights.to(dtype)
    return int(((updates != 0) & (stored + updates.to(dtype) == stored)).sum())
