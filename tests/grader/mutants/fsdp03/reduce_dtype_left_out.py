"""Left out, reduce_dtype is param_dtype."""

CHECK = "shard_mixed"
CODE = "REDUCED_IN_BF16"


def shard_mixed(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh, mp_policy=policy)
    return model
