"""The model itself is cast: there are no master weights."""

CHECK = "shard_mixed"
CODE = "PURE_BF16_STATE"


def shard_mixed(model, mesh):
    model.to(torch.bfloat16)
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    return model
