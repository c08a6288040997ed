"""Three training steps of FSDP2 and of DeepSpeed ZeRO on 4 fresh ranks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import sandbox
from benchmarks import programs
from benchmarks.report import Result, median_s


def training_steps(tmp: str) -> Iterator[Result]:
    """From the call to the results, ranks included."""
    ours = median_s(lambda: sandbox.launch(programs.train_fsdp2), 7)
    yield Result("3 steps of FSDP2 on 4 ranks", ours, 0.5)
    for stage, goal in ((1, 0.6), (2, 0.6), (3, 1.0)):
        ours = median_s(partial(sandbox.launch, programs.train_zero, stage), 7)
        yield Result(f"3 steps of DeepSpeed ZeRO-{stage} on 4 ranks", ours, goal)
