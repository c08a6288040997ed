"""fsdp04: checkpoints that survive kills, torn files and resizes. A check per step, and hints."""

from grader.fsdp04.checkpoint import check_checkpoint
from grader.fsdp04.hints import hint
from grader.fsdp04.losses import draw_losses
from grader.fsdp04.masks import check_mask_tokens
from grader.fsdp04.ray_loop import check_train_loop
from grader.fsdp04.ray_recovery import kill_a_ray_worker
from grader.fsdp04.ray_trainer import check_make_trainer
from grader.fsdp04.record import check_record
from grader.fsdp04.resize_table import compare_resizes
from grader.fsdp04.retention import check_keep_newest
from grader.fsdp04.samples import check_sample_ids
from grader.fsdp04.save_async import check_save_async
from grader.fsdp04.shards import check_shards
from grader.fsdp04.silent import count_silent_flips
from grader.fsdp04.stall import compare_stalls
from grader.fsdp04.train import check_train

__all__ = [
    "check_checkpoint",
    "check_keep_newest",
    "check_make_trainer",
    "check_mask_tokens",
    "check_record",
    "check_sample_ids",
    "check_save_async",
    "check_shards",
    "check_train",
    "check_train_loop",
    "compare_resizes",
    "compare_stalls",
    "count_silent_flips",
    "draw_losses",
    "hint",
    "kill_a_ray_worker",
]
