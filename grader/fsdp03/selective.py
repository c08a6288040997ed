"""Step 10: blocks are recomputed without their matmuls, whose results are kept."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

from torch import nn

from grader.cases import FROZEN, SMALL, TIED, UNEVEN, Case
from grader.fsdp03.checkpoint_blocks import DROPOUT
from grader.fsdp03.checkpointing import MATMULS, keep_all, keep_operators
from grader.fsdp03.exercise import Check
from grader.fsdp03.judge_recomputing import judge_gradients, judge_kept, judge_returned
from grader.fsdp03.recompute_run import Recomputed, activations_by_step, observe_steps
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox import toys
from sandbox.errors import RankError

CheckpointSelective = Callable[[toys.Transformer], nn.Module]

# How torch 2.13 fails where a selective region holds units of FSDP2.
UNITS_INSIDE = "_record_function_enter_new.default invocation index"
CASES = (
    Case(world_size=2, model={**TIED, **DROPOUT}, data_seed=2),
    Case(world_size=3, model={**UNEVEN, **DROPOUT}, frozen=FROZEN),
    Case(world_size=1, model={**SMALL, **DROPOUT}, data_seed=1),
)


def check_checkpoint_selective(checkpoint_selective: CheckpointSelective) -> None:
    """Judge `checkpoint_selective(model) -> model` on 1 to 3 ranks."""
    proof = (
        "not one FLOP of a matmul is recomputed, activations are down to the byte, and every\n"
        "  gradient is bit for bit that of no checkpointing: on 1, 2 and 3 ranks"
    )
    applies = [keep_all, functools.partial(keep_operators, kept=MATMULS), checkpoint_selective]
    with Check("checkpoint_selective", proof, checkpoint_selective) as check:
        for case in CASES:
            try:
                run = check.launch(
                    observe_steps,
                    applies,
                    case,
                    world_size=case.world_size,
                    case=case.text,
                    memory=True,
                )
            except RankError as error:
                check.judge(judge_raised(error))
                raise
            check.judge(judge_returned([seen[-1] for seen in run.results]))
            kept = activations_by_step(run, len(applies))
            check.judge(judge(run.results, kept, case.model["num_blocks"]))


def judge_raised(error: RankError) -> Failure | None:
    """Tell a region around FSDP's units, whose hooks torch cannot recompute selectively."""
    if UNITS_INSIDE not in error.exc_message:
        return None
    return Failure(
        mistake=Mistake.ROOT_CHECKPOINTED,
        expected="regions inside the units: each block one",
        came=f"{error.exc_type}: {error.exc_message.partition('. ')[0]}",
    )


def judge(
    seen: Sequence[Sequence[Recomputed]], kept: Sequence[int], num_blocks: int
) -> Failure | None:
    """Judge what ran again, the FLOPs, the gradients, and what was kept."""
    for rank, (plain, _, own) in enumerate(seen):
        failure = judge_recomputed(own, plain, num_blocks) or judge_gradients(own, plain)
        if failure is not None:
            return replace(failure, where=f"rank {rank}{failure.where}")
    return judge_kept(kept)


def judge_recomputed(own: Recomputed, plain: Recomputed, num_blocks: int) -> Failure | None:
    """Judge that every block ran again, and that backward has no more FLOPs for it."""
    if not own.recomputed:
        return Failure(
            mistake=Mistake.NOT_CHECKPOINTED,
            expected=f"{num_blocks} blocks recomputed in backward",
            came="none",
        )
    if own.backward_flops <= plain.backward_flops:
        return None
    return Failure(
        mistake=Mistake.MATMULS_RECOMPUTED,
        expected=f"{plain.backward_flops:,} FLOPs in backward, as without checkpointing",
        came=f"{own.backward_flops:,}",
    )
