"""A key at the top is misspelt, and DeepSpeed says nothing."""

CHECK = "ds_config"
CODE = "DS_UNKNOWN_KEY"

right = ds_config


def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    config = right(
        stage, world_size, micro_batch_size, accumulation_steps, bf16=bf16, offload=offload
    )
    config["gradient_cliping"] = config.pop("gradient_clipping")
    return config
