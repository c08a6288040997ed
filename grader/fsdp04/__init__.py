"""fsdp04: checkpoints that survive kills, torn files and resizes. A check per step, and hints."""

from grader.fsdp04.checkpoint import check_checkpoint
from grader.fsdp04.hints import hint
from grader.fsdp04.masks import check_mask_tokens
from grader.fsdp04.record import check_record
from grader.fsdp04.samples import check_sample_ids
from grader.fsdp04.shards import check_shards

__all__ = [
    "check_checkpoint",
    "check_mask_tokens",
    "check_record",
    "check_sample_ids",
    "check_shards",
    "hint",
]
