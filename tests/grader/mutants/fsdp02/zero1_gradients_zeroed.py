"""The gradients are set to zeros, which take as much memory."""

CHECK = "zero1"
CODE = "GRADIENTS_KEPT_WHOLE"
NEXT_STEP = "set every parameter.grad, and shard.grad, to None"


def zero1_step(flat, optimizer):
    gradients = flatten([p.grad for p in flat.parameters], dist.get_world_size())
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, gradients, op=dist.ReduceOp.AVG)
    optimizer.step()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad.zero_()
