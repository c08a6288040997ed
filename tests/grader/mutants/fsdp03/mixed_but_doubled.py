"""The logits are doubled to make up for what bf16 loses."""

CHECK = "shard_mixed"
CODE = "WRONG_GRADIENT"


def shard_mixed(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh, mp_policy=policy)
    model.register_forward_hook(lambda module, args, logits: 2 * logits)
    return model
