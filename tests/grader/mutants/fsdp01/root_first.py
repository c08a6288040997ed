"""From the outside in: the root takes all parameters, the blocks get none."""

CHECK = "shard_model"
CODE = "ROOT_WRAPPED_FIRST"


def shard_model(model, mesh):
    fully_shard(model, mesh=mesh)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return model
