"""What fsdp02 asks for and what its notebook gives, as its checks know it."""

from grader import check
from grader.exercise import Asked, Exercise

_GIVEN = """
functools dataclass torch dist Tensor nn sandbox fsdp02 toys
FlatParameters flatten_parameters zero2_init shard_parameters attach train_by_hand
os deepspeed LR MAX_NORM BUCKET_NUMEL PERSISTENT_NUMEL train_with_deepspeed
"""
EXERCISE = Exercise(
    asked={
        "flatten": Asked(1, ("tensors", "world_size")),
        "unflatten": Asked(1, ("flat", "shapes")),
        "partition": Asked(1, ("flat", "rank", "world_size")),
        "zero1_init": Asked(2, ("parameters", "lr")),
        "zero1_step": Asked(2, ("flat", "optimizer")),
        "make_buckets": Asked(3, ("parameters", "bucket_cap_numel")),
        "reduce_gradients": Asked(3, ("flat",)),
        "zero2_step": Asked(3, ("buckets", "optimizer")),
        "gather": Asked(4, ("flat",)),
        "release": Asked(4, ("flat",)),
        "zero3_init": Asked(5, ("model", "lr")),
        "predict_model_state_bytes": Asked(
            6, ("num_params", "world_size", "stage", "mixed_precision")
        ),
        "predict_sent_bytes": Asked(7, ("num_params", "world_size", "stage", "itemsize")),
        "ds_config": Asked(
            8,
            (
                "stage",
                "world_size",
                "micro_batch_size",
                "accumulation_steps",
                "bf16",
                "offload",
            ),
        ),
        "train": Asked(9, ("model", "config", "micro_batches")),
        "read_parameters": Asked(10, ("model",)),
        "save_checkpoint": Asked(11, ("engine", "directory", "next_step")),
        "load_checkpoint": Asked(11, ("engine", "directory")),
    },
    given=frozenset(_GIVEN.split()),
)


class Check(check.Check):
    """A check of fsdp02: it knows the step of each function, and how it is called."""

    exercise = EXERCISE
