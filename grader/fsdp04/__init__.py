"""fsdp04: checkpoints that survive kills, torn files and resizes. A check per step, and hints."""

from grader.fsdp04.checkpoint import check_checkpoint
from grader.fsdp04.hints import hint
from grader.fsdp04.losses import draw_losses
from grader.fsdp04.masks import check_mask_tokens
from grader.fsdp04.record import check_record
from grader.fsdp04.retention import check_keep_newest
from grader.fsdp04.samples import check_sample_ids
from grader.fsdp04.shards import check_shards
from grader.fsdp04.silent import count_silent_flips
from grader.fsdp04.train import check_train

__all__ = [
    "check_checkpoint",
    "check_keep_newest",
    "check_mask_tokens",
    "check_record",
    "check_sample_ids",
    "check_shards",
    "check_train",
    "count_silent_flips",
    "draw_losses",
    "hint",
]
