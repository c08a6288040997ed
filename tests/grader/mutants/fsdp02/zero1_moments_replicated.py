"""The optimizer has the shard alone, but moments of all parameters are kept beside it, by hand."""

CHECK = "zero1"
CODE = "COPY_KEPT"

moments = []


def zero1_step(flat, optimizer):
    gradients = flatten([parameter.grad for parameter in flat.parameters], dist.get_world_size())
    dist.all_reduce(gradients, op=dist.ReduceOp.AVG)
    if not moments:
        moments.extend([torch.zeros_like(gradients), torch.zeros_like(gradients)])
    moments[0].lerp_(gradients, 0.1)
    moments[1].lerp_(gradients.square(), 0.001)
    flat.shard.grad = partition(gradients, dist.get_rank(), dist.get_world_size()).clone()
    optimizer.step()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad = None
