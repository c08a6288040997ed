"""The updated partitions stay where they are."""

CHECK = "zero1"
CODE = "NOT_GATHERED"


def zero1_step(flat, optimizer):
    gradients = flatten([p.grad for p in flat.parameters], dist.get_world_size())
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, gradients, op=dist.ReduceOp.AVG)
    optimizer.step()
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad = None
