"""The parameters' gradients are never cleared, and add up."""

CHECK = "zero1"
CODE = "GRADIENTS_ACCUMULATED"
NEXT_STEP = "after each step"


def zero1_step(flat, optimizer):
    gradients = flatten([p.grad for p in flat.parameters], dist.get_world_size())
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, gradients, op=dist.ReduceOp.AVG)
    optimizer.step()
    optimizer.zero_grad()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
