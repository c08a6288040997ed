"""A second weight decay, by hand."""

CHECK = "zero1"
CODE = "WRONG_WEIGHTS"


def zero1_step(flat, optimizer):
    gradients = flatten([p.grad for p in flat.parameters], dist.get_world_size())
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, gradients, op=dist.ReduceOp.AVG)
    optimizer.step()
    flat.shard.data.mul_(0.999)
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad = None
