"""The policy is made, and given to nobody."""

CHECK = "shard_mixed"
CODE = "NOT_MIXED"


def shard_mixed(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    return model
