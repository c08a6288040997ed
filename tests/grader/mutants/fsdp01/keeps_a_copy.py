"""Sharded, but a whole copy is kept beside it."""

CHECK = "shard_model"
CODE = "REPLICATED"


def shard_model(model, mesh):
    whole = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.whole = whole
    return model
