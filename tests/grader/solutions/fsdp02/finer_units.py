"""A flat tensor per module that has parameters, or per parameter, and copies in between."""


def zero1_init(parameters, lr):
    flat = flatten_parameters(parameters)
    flat.shard = nn.Parameter(flat.shard.detach().clone())
    return flat, torch.optim.AdamW([flat.shard], lr=lr)


def gather(flat):
    world_size = dist.get_world_size()
    whole = torch.empty(world_size * flat.shard.numel(), dtype=flat.shard.dtype)
    dist.all_gather_into_tensor(whole, flat.shard.detach())
    flat.whole.untyped_storage().resize_(whole.nbytes)
    flat.whole.copy_(whole)


def zero3_init(model, lr):
    flats, root_flats, block_flats = [], [], [[] for _ in model.blocks]
    for name, parameter in model.named_parameters():
        flat = shard_parameters([parameter])
        flats.append(flat)
        if name.startswith("blocks."):
            block_flats[int(name.split(".")[1])].append(flat)
        else:
            root_flats.append(flat)
    attach(model, root_flats, block_flats)
    return tuple(flats), torch.optim.AdamW(
        (flat.shard for flat in flats if flat.shard.requires_grad), lr=lr
    )


def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    config = {
        "train_batch_size": world_size * micro_batch_size * accumulation_steps,
        "train_micro_batch_size_per_gpu": micro_batch_size,
        "gradient_accumulation_steps": accumulation_steps,
        "gradient_clipping": MAX_NORM,
        "optimizer": {
            "type": "AdamW",
            "params": {"lr": LR, "torch_adam": True, "weight_decay": 0.01},
        },
        "zero_optimization": {
            0: {"stage": 0},
            1: {"stage": 1, "allgather_bucket_size": BUCKET_NUMEL},
            2: {"stage": 2, "allgather_bucket_size": BUCKET_NUMEL},
            3: {"stage": 3, "stage3_param_persistence_threshold": PERSISTENT_NUMEL},
        }[stage],
        "steps_per_print": 1000,
    }
    config["zero_optimization"]["reduce_bucket_size"] = BUCKET_NUMEL
    if bf16:
        config["bf16"] = {"enabled": True}
    if offload:
        for key, first in {"offload_optimizer": 1, "offload_param": 3}.items():
            if stage >= first:
                config["zero_optimization"][key] = {"device": "cpu", "pin_memory": False}
    return config


def read_parameters(model):
    weights = {}
    for name, weight in model.named_parameters():
        with deepspeed.zero.GatheredParameters([weight]):
            weights[name] = weight.data.to("cpu", copy=True)
    return weights
