"""Whole gradients are put aside in a list while backward runs, and dropped in the step."""

CHECK = "zero2"
CODE = "COPY_KEPT"

KEPT = []


def reduce_gradients(flat):
    gradients = flatten([parameter.grad for parameter in flat.parameters], dist.get_world_size())
    KEPT.append(gradients)
    reduced = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(reduced, gradients, op=dist.ReduceOp.AVG)
    flat.shard.grad = reduced if flat.shard.grad is None else flat.shard.grad + reduced
    for parameter in flat.parameters:
        parameter.grad = None


def zero2_step(buckets, optimizer):
    KEPT.clear()
    optimizer.step()
    optimizer.zero_grad()
    for flat in buckets:
        dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
