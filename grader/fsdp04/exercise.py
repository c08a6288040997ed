"""What fsdp04 asks for and what its notebook gives, as its checks know it."""

from collections.abc import Callable
from typing import Any

from grader import check
from grader.exercise import Asked, Exercise

# Functions that several checks get; a state is a TrainState, the notebook's or our own.
SaveShards = Callable[[str, Any], None]
LoadShards = Callable[[str, Any], None]
SaveCheckpoint = Callable[[str, Any], None]
LatestComplete = Callable[[str], Any]
SaveAsync = Callable[[str, Any, Any, Any], Any]  # a Future
NewState = Callable[[dict[str, Any], Any], Any]

_GIVEN = """
ThreadPoolExecutor
dataclass hashlib json os shutil tempfile Path torch dist dcp DefaultLoadPlanner
StateDictOptions get_state_dict set_state_dict init_device_mesh fully_shard LambdaLR
sandbox fsdp04 toys ray Checkpoint CheckpointConfig FailureConfig RunConfig ScalingConfig
TorchConfig TorchTrainer
CONFIG TrainState new_state train_step
"""
EXERCISE = Exercise(
    asked={
        "sample_ids": Asked(1, ("step", "rank", "world_size", "config")),
        "mask_tokens": Asked(2, ("tokens", "ids", "step", "config")),
        "collect": Asked(3, ("state",)),
        "save_shards": Asked(3, ("directory", "state")),
        "load_shards": Asked(3, ("directory", "state")),
        "describe_files": Asked(4, ("directory",)),
        "write_record": Asked(4, ("directory",)),
        "is_complete": Asked(4, ("directory",)),
        "save_checkpoint": Asked(5, ("root", "state")),
        "latest_complete": Asked(5, ("root",)),
        "keep_newest": Asked(6, ("root", "num_kept")),
        "train": Asked(7, ("config", "root")),
        "save_async": Asked(8, ("root", "state", "group", "previous")),
        "train_loop_per_worker": Asked(9, ("config",)),
        "make_trainer": Asked(10, ("num_workers", "storage_path")),
    },
    given=frozenset(_GIVEN.split()),
)


class Check(check.Check):
    """A check of fsdp04: it knows the step of each function, and how it is called."""

    exercise = EXERCISE
