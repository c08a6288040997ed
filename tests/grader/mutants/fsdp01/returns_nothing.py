"""Sharded in place, and not returned."""

CHECK = "shard_model"
CODE = "WRONG_RESULT"
NEXT_STEP = "it returned None: did you forget `return`?"


def shard_model(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
