"""Step 9: every n-th block is recomputed in backward; what is kept and the gradients prove it."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

from torch import nn

from grader.cases import FROZEN, SMALL, TIED, UNEVEN, Case
from grader.fsdp03.checkpointing import checkpoint_every, keep_all
from grader.fsdp03.exercise import Check
from grader.fsdp03.judge_recomputing import judge_gradients, judge_kept, judge_returned
from grader.fsdp03.recompute_run import Recomputed, activations_by_step, observe_steps
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox import toys

CheckpointBlocks = Callable[[toys.Transformer, int], nn.Module]

DROPOUT = {"dropout": 0.2}
MAX_TRACKED = 2  # ranks: tracking memory takes long, and more of them hold no other activations
CASES = (
    (2, Case(world_size=2, model={**SMALL, **DROPOUT, "num_blocks": 3}, data_seed=2)),
    (3, Case(world_size=3, model={**UNEVEN, **DROPOUT, "num_blocks": 4}, frozen=FROZEN)),
    (1, Case(world_size=1, model={**TIED, **DROPOUT}, data_seed=1)),
    (1, Case(world_size=4, model={**SMALL, **DROPOUT, "num_blocks": 2}, data_seed=4)),
)


def check_checkpoint_blocks(checkpoint_blocks: CheckpointBlocks) -> None:
    """Judge `checkpoint_blocks(model, every) -> model` on 1 to 4 ranks."""
    proof = (
        "exactly these blocks are recomputed, activations are down to the byte, and with dropout\n"
        "  every gradient is bit for bit that of no checkpointing: on 1, 2, 3 and 4 ranks"
    )
    with Check("checkpoint_blocks", proof, checkpoint_blocks) as check:
        for every, case in CASES:
            applies = [
                keep_all,
                functools.partial(checkpoint_every, every=every),
                functools.partial(_call, checkpoint_blocks, every),
            ]
            run = check.launch(
                observe_steps,
                applies,
                case,
                counts_flops=False,
                world_size=case.world_size,
                case=f"every={every}, {case.text}",
                memory=case.world_size <= MAX_TRACKED,
            )
            check.judge(judge_returned([seen[-1] for seen in run.results]))
            check.judge(judge(run.results, every, case.model["num_blocks"]))
            if case.world_size <= MAX_TRACKED:
                check.judge(judge_kept(activations_by_step(run, len(applies))))


def _call(checkpoint_blocks: CheckpointBlocks, every: int, model: toys.Transformer) -> nn.Module:
    return checkpoint_blocks(model, every)


def judge(seen: Sequence[Sequence[Recomputed]], every: int, num_blocks: int) -> Failure | None:
    """Judge which blocks ran again, and the gradients: without, right, learner's."""
    for rank, (plain, _, own) in enumerate(seen):
        failure = judge_blocks(own, every, num_blocks) or judge_gradients(own, plain)
        if failure is not None:
            return replace(failure, where=f"rank {rank}{failure.where}")
    return None


def judge_blocks(own: Recomputed, every: int, num_blocks: int) -> Failure | None:
    """Judge that exactly the blocks 0, every, 2 * every, … ran again, once each."""
    expected = {f"block {number}" for number in range(0, num_blocks, every)}
    came = own.recomputed
    if not own.has_autograd:
        mistake = Mistake.REENTRANT_CHECKPOINT
    elif came["the norm"]:
        mistake = Mistake.ROOT_CHECKPOINTED
    elif not came:
        mistake = Mistake.NOT_CHECKPOINTED
    elif dict(came) != dict.fromkeys(expected, 1):
        mistake = Mistake.WRONG_BLOCKS_CHECKPOINTED
    else:
        return None
    return Failure(
        mistake=mistake,
        expected=f"recomputed in backward: {', '.join(sorted(expected))}",
        came=", ".join(sorted(came)) or "nothing",
    )
