"""The policy as keywords, with the logits cast back to fp32 at the root."""


def shard_mixed(model, mesh):
    dtypes = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}
    for block in reversed(model.blocks):
        fully_shard(block, mesh=mesh, mp_policy=MixedPrecisionPolicy(**dtypes))
    root = MixedPrecisionPolicy(**dtypes, output_dtype=torch.float32)
    return fully_shard(model, mesh=mesh, mp_policy=root)
