"""Embedding and head in units of their own, also where they share a weight."""

CHECK = "shard_model"
CODE = "TIED_WEIGHTS_SPLIT"


def shard_model(model, mesh):
    for module in [model.embedding, *model.blocks, model.head, model]:
        fully_shard(module, mesh=mesh)
    return model
