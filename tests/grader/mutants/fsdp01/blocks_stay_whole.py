"""Blocks are not freed after their forward."""

CHECK = "shard_model"
CODE = "NOT_RESHARDED"


def shard_model(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh, reshard_after_forward=False)
    return fully_shard(model, mesh=mesh)
