"""fsdp01: shard a model with FSDP2 and train it with Ray Train. A check per step, and hints."""

from grader.fsdp01.build import check_build
from grader.fsdp01.checkpoint import check_checkpoint
from grader.fsdp01.hints import hint
from grader.fsdp01.hybrid import check_shard_hybrid
from grader.fsdp01.make_trainer import check_make_trainer
from grader.fsdp01.measure import measure
from grader.fsdp01.padding import check_padded_numel
from grader.fsdp01.rows import check_rows_of_rank, draw_rows
from grader.fsdp01.samples import check_sample_ids
from grader.fsdp01.sent_bytes import check_predict_sent_bytes
from grader.fsdp01.shard_model import check_shard_model
from grader.fsdp01.train_loop import check_train_loop
from grader.fsdp01.train_step import check_train_step
from grader.ray_fit import fit_and_tell as fit_on_ray

__all__ = [
    "check_build",
    "check_checkpoint",
    "check_make_trainer",
    "check_padded_numel",
    "check_predict_sent_bytes",
    "check_rows_of_rank",
    "check_sample_ids",
    "check_shard_hybrid",
    "check_shard_model",
    "check_train_loop",
    "check_train_step",
    "draw_rows",
    "fit_on_ray",
    "hint",
    "measure",
]
