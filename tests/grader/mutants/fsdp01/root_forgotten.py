"""Embedding, norm and head stay whole."""

CHECK = "shard_model"
CODE = "ROOT_NOT_WRAPPED"


def shard_model(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return model
