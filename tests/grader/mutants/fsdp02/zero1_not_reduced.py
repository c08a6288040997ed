"""Each rank steps with its own gradient."""

CHECK = "zero1"
CODE = "WRONG_GRADIENT"
NEXT_STEP = "average each gradient over the ranks"


def zero1_step(flat, optimizer):
    gradients = flatten([p.grad for p in flat.parameters], dist.get_world_size())
    flat.shard.grad = partition(gradients, dist.get_rank(), dist.get_world_size())
    optimizer.step()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad = None
