"""Measure a training step on four ranks: bytes held and bytes sent, beside their prediction."""

from collections.abc import Callable

import sandbox
from grader import explain, verdict
from sandbox.memory.category import Category

STATES = (Category.PARAMETERS, Category.GRADIENTS, Category.OPTIMIZER)
BESIDE = (Category.UNSHARDED, Category.BUFFERS)


@explain.telling_stubs("measure")
def measure(name: str, train: Callable[[], None], states: float, sent: float) -> None:
    """Print what `train` holds at the end of its last backward, and sends in its last step.

    It marks "step" before each step, and "end" after the last one. `states` and `sent` are the
    predicted bytes; in brackets stands what was measured beyond them.
    """
    run = sandbox.launch(train, world_size=4, memory=True)
    held = run.memory.at("backward", rank=0).bytes
    total = sum(held[category] or 0 for category in STATES)
    went = run.ledger.phases(rank=0)[-2].sent_bytes(rank=0)
    parts = ", ".join(f"{category} {held[category] or 0:,}" for category in STATES)
    beside = ", ".join(f"{category} {held[category]:,}" for category in BESIDE if held[category])
    verdict.show(
        f"{name}\n"
        f"  states {total:>9,} bytes ({total - states:+,.0f}): {parts}\n"
        f"  sent   {went:>9,.0f} bytes ({went - sent:+,.0f})"
        + (f"\n  beside them, in bytes: {beside}" if beside else "")
    )
