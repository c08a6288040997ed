"""What fsdp01 asks for and what its notebook gives, as its checks know it."""

from grader import check
from grader.exercise import Asked, Exercise

_GIVEN = """
functools tempfile torch dist dcp get_state_dict set_state_dict init_device_mesh fully_shard
sandbox fsdp01 toys train Checkpoint RunConfig ScalingConfig TorchConfig TorchTrainer
batches CONFIG
"""
EXERCISE = Exercise(
    asked={
        "rows_of_rank": Asked(1, ("num_rows", "rank", "world_size")),
        "shard_model": Asked(2, ("model", "mesh")),
        "build": Asked(3, ("config", "mesh")),
        "sample_ids": Asked(4, ("num_samples", "epoch", "seed", "rank", "world_size")),
        "train_step": Asked(5, ("model", "optimizer", "tokens", "max_norm")),
        "save_checkpoint": Asked(6, ("directory", "model", "optimizer", "next_epoch")),
        "load_checkpoint": Asked(6, ("directory", "model", "optimizer")),
        "train_loop_per_worker": Asked(7, ("config",)),
        "make_trainer": Asked(8, ("num_workers", "storage_path")),
        "padded_numel": Asked(9, ("shape", "world_size")),
        "predict_sent_bytes": Asked(10, ("root_shapes", "block_shapes", "world_size", "itemsize")),
        "shard_hybrid": Asked(0, ("model", "num_replicas", "num_shards")),
    },
    given=frozenset(_GIVEN.split()),
)


class Check(check.Check):
    """A check of fsdp01: it knows the step of each function, and how it is called."""

    exercise = EXERCISE
