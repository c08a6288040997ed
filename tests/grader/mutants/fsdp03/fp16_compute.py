"""fp16, which needs a loss scale."""

CHECK = "shard_mixed"
CODE = "WRONG_PARAM_DTYPE"


def shard_mixed(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.float16, reduce_dtype=torch.float32)
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh, mp_policy=policy)
    return model
