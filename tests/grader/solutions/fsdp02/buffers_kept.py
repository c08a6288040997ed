"""Buffers that are made once and used in every step, as libraries do it."""


def zero1_init(parameters, lr):
    flat = flatten_parameters(parameters)
    flat.gradients = torch.zeros_like(flat.whole)
    return flat, torch.optim.AdamW([flat.shard], lr=lr)


def zero1_step(flat, optimizer):
    start = 0
    for parameter in flat.parameters:
        stop = start + parameter.numel()
        flat.gradients[start:stop].copy_(parameter.grad.flatten())
        parameter.grad = None
        start = stop
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, flat.gradients, op=dist.ReduceOp.AVG)
    optimizer.step()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    flat.shard.grad = None


reduced = {}


def reduce_gradients(flat):
    gradients = flatten([parameter.grad for parameter in flat.parameters], dist.get_world_size())
    for parameter in flat.parameters:
        parameter.grad = None
    share = reduced.setdefault(id(flat), torch.empty_like(flat.shard))
    dist.reduce_scatter_tensor(share, gradients, op=dist.ReduceOp.AVG)
    if flat.shard.grad is None:
        flat.shard.grad = torch.zeros_like(flat.shard)
    flat.shard.grad += share
