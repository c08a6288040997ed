"""fsdp03: mixed precision and activation checkpointing. A check per step, and hints."""

from grader.fsdp03.checkpoint_blocks import check_checkpoint_blocks
from grader.fsdp03.choose import check_choose_policies
from grader.fsdp03.clip import check_clip_by_global_norm
from grader.fsdp03.diverged import diverging_run
from grader.fsdp03.first_nonfinite import check_first_nonfinite
from grader.fsdp03.fp16_range import check_fp16_range
from grader.fsdp03.hints import hint
from grader.fsdp03.loss_scaler import check_loss_scaler
from grader.fsdp03.lost_updates import check_lost_updates
from grader.fsdp03.measure import measure, measure_policies, measure_saving
from grader.fsdp03.mixed_precision import check_shard_mixed
from grader.fsdp03.predict_activations import check_predict_activation_bytes
from grader.fsdp03.range_picture import draw_range
from grader.fsdp03.selective import check_checkpoint_selective
from grader.fsdp03.sent_bytes import check_predict_sent_bytes
from grader.fsdp03.spacing import draw_spacing
from grader.fsdp03.train_step import check_train_step

__all__ = [
    "check_checkpoint_blocks",
    "check_checkpoint_selective",
    "check_choose_policies",
    "check_clip_by_global_norm",
    "check_first_nonfinite",
    "check_fp16_range",
    "check_loss_scaler",
    "check_lost_updates",
    "check_predict_activation_bytes",
    "check_predict_sent_bytes",
    "check_shard_mixed",
    "check_train_step",
    "diverging_run",
    "draw_range",
    "draw_spacing",
    "hint",
    "measure",
    "measure_policies",
    "measure_saving",
]
