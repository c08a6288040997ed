"""fp16 is enabled at all times, bf16 beside it."""

CHECK = "ds_config"
CODE = "TWO_PRECISIONS"

right = ds_config


def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    config = right(
        stage, world_size, micro_batch_size, accumulation_steps, bf16=bf16, offload=offload
    )
    config["fp16"] = {"enabled": True}
    return config
