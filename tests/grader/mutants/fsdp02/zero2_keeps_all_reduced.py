"""The partition is a view of the whole all-reduced gradient, which so stays alive."""

CHECK = "zero2"
CODE = "GRADIENTS_KEPT_WHOLE"


def reduce_gradients(flat):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    gradients = flatten([p.grad for p in flat.parameters], world_size)
    dist.all_reduce(gradients, op=dist.ReduceOp.AVG)
    reduced = partition(gradients, rank, world_size)
    if flat.shard.grad is None:
        flat.shard.grad = reduced
    else:
        flat.shard.grad += reduced
    for parameter in flat.parameters:
        parameter.grad = None
