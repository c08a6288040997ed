"""reduce_scatter adds up by default."""

CHECK = "zero1"
CODE = "GRADIENTS_SUMMED"
NEXT_STEP = "op=dist.ReduceOp.AVG"


def zero1_step(flat, optimizer):
    gradients = flatten([p.grad for p in flat.parameters], dist.get_world_size())
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, gradients)
    optimizer.step()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    for parameter in flat.parameters:
        parameter.grad = None
