"""Another style: lists of tensors in the collectives, views by reshape, a dict of sections."""


def partition(flat, rank, world_size):
    return flat.view(world_size, -1)[rank]


def zero1_step(flat, optimizer):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    gradients = flatten([parameter.grad for parameter in flat.parameters], world_size)
    dist.all_reduce(gradients)
    flat.shard.grad = partition(gradients, rank, world_size).div(world_size)
    optimizer.step()
    dist.all_gather(list(flat.whole.chunk(world_size)), flat.shard.detach().clone())
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad = None


def read_parameters(model):
    weights = {}
    for name, weight in model.named_parameters():
        with deepspeed.zero.GatheredParameters([weight]):
            weights[name] = weight.data.to("cpu", copy=True)
    return weights
