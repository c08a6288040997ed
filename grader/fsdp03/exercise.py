"""What fsdp03 asks for and what its notebook gives, as its checks know it."""

from grader import check
from grader.exercise import Asked, Exercise

_GIVEN = """
functools itertools math torch dist checkpoint_wrapper init_device_mesh MixedPrecisionPolicy
fully_shard CheckpointPolicy create_selective_checkpoint_contexts sandbox fsdp03 toys
"""
EXERCISE = Exercise(
    asked={
        "lost_updates": Asked(1, ("weights", "updates", "dtype")),
        "num_underflows": Asked(2, ("gradients", "scale")),
        "largest_scale": Asked(2, ("gradients",)),
        "shard_mixed": Asked(3, ("model", "mesh")),
        "predict_sent_bytes": Asked(
            4, ("root_numel", "block_numels", "world_size", "param_itemsize", "reduce_itemsize")
        ),
        "unscale_gradients": Asked(5, ("parameters", "scale")),
        "update_scale": Asked(5, ("scale", "num_good_steps", "found_inf", "growth_interval")),
        "clip_by_global_norm": Asked(6, ("parameters", "max_norm")),
        "train_step": Asked(7, ("model", "optimizer", "tokens", "scaler", "max_norm")),
        "first_nonfinite": Asked(8, ("records",)),
        "checkpoint_blocks": Asked(9, ("model", "every")),
        "checkpoint_selective": Asked(10, ("model",)),
        "predict_activation_bytes": Asked(
            11, ("one_block", "two_blocks", "one_checkpointed", "num_blocks", "num_checkpointed")
        ),
        "choose_policies": Asked(12, ("policies", "num_blocks", "rest_bytes", "budget_bytes")),
    },
    given=frozenset(_GIVEN.split()),
)


class Check(check.Check):
    """A check of fsdp03: it knows the step of each function, and how it is called."""

    exercise = EXERCISE
