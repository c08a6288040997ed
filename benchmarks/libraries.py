"""Three training steps of FSDP2 and of DeepSpeed ZeRO on 4 fresh ranks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import sandbox
from benchmarks import programs
from benchmarks.report import Result, median_s


def training_steps(tmp: str) -> Iterator[Result]:
    """From the call to the results, ranks included. The time grows with the number of parameters.

    What takes it is torch's and DeepSpeed's own Python, once per parameter: DTensor's propagation
    of shardings in the first AdamW step, and hooks.
    """
    for num_blocks in (2, 3):
        what = f"on 4 ranks, {num_blocks} blocks"
        ours = median_s(partial(sandbox.launch, programs.train_fsdp2, num_blocks), 7)
        yield Result(f"3 steps of FSDP2 {what}", ours, 0.5)
        for stage, goal in ((1, 0.6), (2, 0.6), (3, 1.0)):
            ours = median_s(partial(sandbox.launch, programs.train_zero, stage, num_blocks), 7)
            yield Result(f"3 steps of DeepSpeed ZeRO-{stage} {what}", ours, goal)
