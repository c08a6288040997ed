"""Mixed precision where the step is to equal the one-process run."""

CHECK = "shard_model"
CODE = "WRONG_LOSS"


def shard_model(model, mesh):
    from torch.distributed.fsdp import MixedPrecisionPolicy

    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float64)
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh, mp_policy=policy)
    return model
