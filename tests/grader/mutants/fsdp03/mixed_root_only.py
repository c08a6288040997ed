"""One unit for all."""

CHECK = "shard_mixed"
CODE = "ROOT_ONLY_WRAP"


def shard_mixed(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return fully_shard(model, mesh=mesh, mp_policy=policy)
