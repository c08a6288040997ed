"""torch's own helpers: flatten and unflatten of dense tensors, tensor_split, lists of shards."""

from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def flatten(tensors, world_size):
    tensors = list(tensors)
    numel = sum(tensor.numel() for tensor in tensors)
    return _flatten_dense_tensors([*tensors, tensors[0].new_zeros(-numel % world_size)])


def unflatten(flat, shapes):
    return list(_unflatten_dense_tensors(flat, [torch.empty(shape) for shape in shapes]))


def partition(flat, rank, world_size):
    return torch.tensor_split(flat, world_size)[rank]


def zero1_step(flat, optimizer):
    world_size = dist.get_world_size()
    gradients = flatten([parameter.grad for parameter in flat.parameters], world_size)
    parts = list(gradients.chunk(world_size))
    reduced = torch.empty_like(parts[0])
    dist.reduce_scatter(reduced, parts)
    flat.shard.grad = reduced / world_size
    optimizer.step()
    dist.all_gather(list(flat.whole.chunk(world_size)), flat.shard.detach().clone())
    optimizer.zero_grad()
    for parameter in flat.parameters:
        parameter.grad = None


def reduce_gradients(flat):
    world_size = dist.get_world_size()
    gradients = flatten([parameter.grad for parameter in flat.parameters], world_size)
    reduced = torch.empty_like(flat.shard)
    dist.reduce_scatter(reduced, list(gradients.chunk(world_size)), op=dist.ReduceOp.AVG)
    if flat.shard.grad is None:
        flat.shard.grad = torch.zeros_like(flat.shard)
    flat.shard.grad.add_(reduced)
    for parameter in flat.parameters:
        parameter.grad = None


def gather(flat):
    storage = flat.whole.untyped_storage()
    storage.resize_(flat.whole.nbytes)
    dist.all_gather(list(flat.whole.chunk(dist.get_world_size())), flat.shard.detach())


def release(flat):
    flat.parameters[0].untyped_storage().resize_(0)
