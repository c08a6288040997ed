"""Judge what checkpointing keeps, and that the gradients are those of no checkpointing."""

from collections.abc import Sequence

import torch

from grader.fsdp03.recompute_run import Recomputed
from grader.mistakes import Mistake
from grader.verdict import Failure


def judge_returned(ranks: Sequence[Recomputed]) -> Failure | None:
    """Judge that the answer returned a model."""
    came = ranks[0].returned
    if came == "Module":
        return None
    return Failure(mistake=Mistake.WRONG_RESULT, expected="the model", came=came)


def judge_gradients(own: Recomputed, plain: Recomputed) -> Failure | None:
    """Require that every gradient is bit for bit the one without checkpointing."""
    for name, expected in plain.gradients.items():
        came = own.gradients.get(name)
        if came is not None and torch.equal(came.local, expected.local):
            continue
        return Failure(
            mistake=Mistake.RECOMPUTE_MISMATCH,
            expected=f"gradient with norm {expected.local.norm():.12g}",
            came="none" if came is None else f"norm {came.local.norm():.12g}, other values",
            where=f", '{name}'",
        )
    return None


def judge_kept(kept: Sequence[int]) -> Failure | None:
    """Compare the activations at the end of forward: without, with torch's wrapper, learner's."""
    plain, right, own = kept
    if own <= right:
        return None
    return Failure(
        mistake=Mistake.ACTIVATIONS_KEPT,
        expected=f"{right:,} bytes of activations at the end of forward ({plain:,} without)",
        came=f"{own:,} bytes",
        where="rank 0",
    )
