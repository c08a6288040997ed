"""fsdp03: mixed precision and activation checkpointing. A check per step, and hints."""

from grader.fsdp03.fp16_range import check_fp16_range
from grader.fsdp03.hints import hint
from grader.fsdp03.lost_updates import check_lost_updates
from grader.fsdp03.range_picture import draw_range
from grader.fsdp03.spacing import draw_spacing

__all__ = [
    "check_fp16_range",
    "check_lost_updates",
    "draw_range",
    "draw_spacing",
    "hint",
]
