"""offload_param at stages that keep parameters whole."""

CHECK = "ds_config"
CODE = "DS_KEY_WITHOUT_EFFECT"

right = ds_config


def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    config = right(
        stage, world_size, micro_batch_size, accumulation_steps, bf16=bf16, offload=offload
    )
    if offload:
        config["zero_optimization"]["offload_param"] = {"device": "cpu"}
    return config
