"""A copy is sharded and returned; the model that was given stays whole."""

CHECK = "shard_model"
CODE = "NOT_IN_PLACE"


def shard_model(model, mesh):
    import copy

    sharded = copy.deepcopy(model)
    for block in sharded.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    return sharded
