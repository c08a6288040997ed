"""All-reduced, and cut afterwards."""

CHECK = "zero2"
CODE = "ALL_REDUCE_FOR_REDUCE_SCATTER"


def reduce_gradients(flat):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    gradients = flatten([p.grad for p in flat.parameters], world_size)
    dist.all_reduce(gradients, op=dist.ReduceOp.AVG)
    reduced = partition(gradients, rank, world_size).clone()
    flat.shard.grad = reduced if flat.shard.grad is None else flat.shard.grad + reduced
    for parameter in flat.parameters:
        parameter.grad = None
