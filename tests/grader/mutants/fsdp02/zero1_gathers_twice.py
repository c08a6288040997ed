"""Each step gathers before it and after it."""

CHECK = "zero1"
CODE = "WRONG_TRAFFIC"


def zero1_step(flat, optimizer):
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach().clone())
    gradients = flatten([p.grad for p in flat.parameters], dist.get_world_size())
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, gradients, op=dist.ReduceOp.AVG)
    optimizer.step()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad = None
