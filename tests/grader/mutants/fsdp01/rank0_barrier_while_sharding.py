"""While it shards, rank 0 alone waits for everybody."""

CHECK = "shard_model"
CODE = "DEADLOCK"


def shard_model(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    if dist.get_rank() == 0:
        dist.barrier()
    return fully_shard(model, mesh=mesh)
