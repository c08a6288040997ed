"""The stage stands beside zero_optimization."""

CHECK = "ds_config"
CODE = "DS_UNKNOWN_KEY"

right = ds_config


def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    config = right(
        stage, world_size, micro_batch_size, accumulation_steps, bf16=bf16, offload=offload
    )
    config["stage"] = config["zero_optimization"].pop("stage")
    return config
