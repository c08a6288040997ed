"""Indices and loops instead of helpers; gradients divided before they are summed."""


def flatten(tensors, world_size):
    tensors = list(tensors)
    numel = sum(tensor.numel() for tensor in tensors)
    while numel % world_size:
        numel += 1
    flat = torch.zeros(numel, dtype=tensors[0].dtype, device=tensors[0].device)
    start = 0
    for tensor in tensors:
        flat[start : start + tensor.numel()].copy_(tensor.reshape(-1))
        start += tensor.numel()
    return flat


def unflatten(flat, shapes):
    ends = torch.tensor([shape.numel() for shape in shapes]).cumsum(0).tolist()
    starts = [0, *ends]
    return tuple(flat[a:b].reshape(s) for a, b, s in zip(starts, ends, shapes, strict=False))


def partition(flat, rank, world_size):
    return flat.view(world_size, -1)[rank]


def zero1_init(parameters, lr):
    flat = flatten_parameters(list(parameters))
    optimizer = torch.optim.AdamW([{"params": [flat.shard], "lr": lr}], foreach=False)
    return [flat, optimizer]


def zero1_step(flat, optimizer):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    gradients = flatten([parameter.grad / world_size for parameter in flat.parameters], world_size)
    dist.all_reduce(gradients)
    flat.shard.grad = partition(gradients, rank, world_size).clone()
    optimizer.step()
    with torch.no_grad():
        parts = [torch.empty_like(flat.shard) for _ in range(world_size)]
        dist.all_gather(parts, flat.shard.detach())
        flat.whole.copy_(torch.cat(parts))
    for parameter in flat.parameters:
        parameter.grad = None


def make_buckets(parameters, bucket_cap_numel):
    waiting = list(parameters)
    buckets = []
    while waiting:
        bucket = [waiting.pop()]
        while waiting and sum(p.numel() for p in [*bucket, waiting[-1]]) <= bucket_cap_numel:
            bucket.append(waiting.pop())
        buckets.append(bucket)
    return buckets


def reduce_gradients(flat):
    world_size = dist.get_world_size()
    gradients = flatten([parameter.grad for parameter in flat.parameters], world_size)
    gradients.div_(world_size)
    for parameter in flat.parameters:
        parameter.grad = None
    reduced = torch.zeros_like(flat.shard)
    dist.reduce_scatter_tensor(reduced, gradients)
    if flat.shard.grad is not None:
        reduced += flat.shard.grad
    flat.shard.grad = reduced


def zero2_step(buckets, optimizer):
    optimizer.step()
    waits = [
        dist.all_gather_into_tensor(flat.whole, flat.shard.detach(), async_op=True)
        for flat in buckets
    ]
    for wait in waits:
        wait.wait()
    for flat in buckets:
        flat.shard.grad = None


def predict_model_state_bytes(num_params, world_size, stage, mixed_precision):
    whole = [2, 2, 12] if mixed_precision else [4, 4, 8]
    sizes = [size * num_params for size in whole]
    for number in range(stage):
        sizes[2 - number] /= world_size
    return sum(sizes)


def predict_sent_bytes(num_params, world_size, stage, itemsize):
    one_pass = num_params * itemsize - num_params * itemsize / world_size
    return sum(one_pass for _ in range(2 + (stage > 2)))
