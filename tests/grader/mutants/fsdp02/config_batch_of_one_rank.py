"""train_batch_size leaves out the number of ranks."""

CHECK = "ds_config"
CODE = "BATCH_SIZE_CONTRADICTION"

right = ds_config


def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    config = right(
        stage, world_size, micro_batch_size, accumulation_steps, bf16=bf16, offload=offload
    )
    config["train_batch_size"] = micro_batch_size * accumulation_steps
    return config
