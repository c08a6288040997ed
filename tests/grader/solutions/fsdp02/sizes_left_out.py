"""DeepSpeed works out the batch size itself, and a precision left out is fp32."""


def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    zero = {"stage": stage, "reduce_bucket_size": BUCKET_NUMEL}
    config = {
        "train_micro_batch_size_per_gpu": micro_batch_size,
        "gradient_accumulation_steps": accumulation_steps,
        "gradient_clipping": MAX_NORM,
        "optimizer": {"type": "AdamW", "params": {"lr": LR, "torch_adam": True}},
        "zero_optimization": zero,
    }
    if bf16:
        config["bf16"] = {"enabled": True}
    if stage in (1, 2):
        zero["allgather_bucket_size"] = BUCKET_NUMEL
    if stage == 3:
        zero["stage3_param_persistence_threshold"] = PERSISTENT_NUMEL
    if offload and stage:
        zero["offload_optimizer"] = {"device": "cpu"}
    if offload and stage == 3:
        zero["offload_param"] = {"device": "cpu"}
    return config
