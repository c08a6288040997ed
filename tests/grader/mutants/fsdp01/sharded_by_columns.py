"""Sharded along the last dim instead of dim 0."""

CHECK = "shard_model"
CODE = "WRONG_SHARD"


def shard_model(model, mesh):
    from torch.distributed.tensor import Shard

    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh, shard_placement_fn=lambda weight: Shard(weight.ndim - 1))
    return model
