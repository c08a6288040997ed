"""offload is ignored."""

CHECK = "ds_config"
CODE = "DS_CONFIG_WRONG"

right = ds_config


def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    config = right(
        stage, world_size, micro_batch_size, accumulation_steps, bf16=bf16, offload=offload
    )
    config["zero_optimization"].pop("offload_optimizer", None)
    return config
