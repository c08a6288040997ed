"""Shards given to collectives as they are, and as .data; the step under no_grad."""


def zero1_step(flat, optimizer):
    flat.shard.grad = torch.empty_like(flat.shard)
    gradients = flatten([parameter.grad for parameter in flat.parameters], dist.get_world_size())
    dist.reduce_scatter_tensor(flat.shard.grad, gradients, op=dist.ReduceOp.AVG)
    optimizer.step()
    with torch.no_grad():
        dist.all_gather_into_tensor(flat.whole, flat.shard)
    optimizer.zero_grad()
    for parameter in flat.parameters:
        parameter.grad = None


def zero2_step(buckets, optimizer):
    optimizer.step()
    optimizer.zero_grad()
    for flat in buckets:
        dist.all_gather_into_tensor(flat.whole, flat.shard.data)


@torch.no_grad()
def gather(flat):
    flat.whole.untyped_storage().resize_(flat.whole.nbytes)
    dist.all_gather_into_tensor(flat.whole, flat.shard)
