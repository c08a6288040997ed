"""The root has no policy."""

CHECK = "shard_mixed"
CODE = "HALF_MIXED"


def shard_mixed(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh)
    return model
