"""The blocks are units on rank 0 alone."""

CHECK = "shard_model"
CODE = "ROOT_ONLY_WRAP"


def shard_model(model, mesh):
    if dist.get_rank() == 0:
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)
