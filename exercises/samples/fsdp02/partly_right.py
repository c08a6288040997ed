"""Partly right: gradients all-reduced and kept whole, one flat tensor for the whole model."""


def reduce_gradients(flat):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    gradients = flatten([parameter.grad for parameter in flat.parameters], world_size)
    dist.all_reduce(gradients, op=dist.ReduceOp.AVG)
    reduced = partition(gradients, rank, world_size).clone()
    flat.shard.grad = reduced if flat.shard.grad is None else flat.shard.grad + reduced
    for parameter in flat.parameters:
        parameter.grad = None


def zero3_init(model, lr):
    flat = shard_parameters(model.parameters())
    attach(model, [flat], [[] for _ in model.blocks])
    return [flat], torch.optim.AdamW([flat.shard], lr=lr)


def read_parameters(model):
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}
