"""A model in float32 is left as it is."""

CHECK = "shard_model"
CODE = "NOT_WRAPPED"


def shard_model(model, mesh):
    if model.norm.weight.dtype == torch.float64:
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model
