"""fsdp04: checkpoints that survive kills, torn files and resizes. A check per step, and hints."""

from grader.fsdp04.hints import hint

__all__ = ["hint"]
