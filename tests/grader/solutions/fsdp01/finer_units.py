"""Finer units: embedding and head apart where not tied, an explicit root; contiguous slices."""

import math


def rows_of_rank(num_rows, rank, world_size):
    rows = torch.arange(num_rows).chunk(world_size)
    if rank >= len(rows):
        return num_rows, num_rows
    return rows[rank][0].item(), rows[rank][-1].item() + 1


def shard_model(model, mesh):
    if model.head.weight is not model.embedding.weight:
        fully_shard(model.embedding, mesh=mesh)
        fully_shard([model.norm, model.head], mesh=mesh, reshard_after_forward=False)
    for block in model.blocks:
        fully_shard(block.attention, mesh=mesh)
        fully_shard(block.feed_forward, mesh=mesh)
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh, reshard_after_forward=True)


def build(config, mesh):
    model = toys.Transformer(**config["model"])
    shard_model(model, mesh)
    names = dict(model.named_parameters())
    groups = [
        {"params": [weight for weight in names.values() if weight.ndim == 2]},
        {"params": [weight for weight in names.values() if weight.ndim < 2]},
    ]
    return model, torch.optim.AdamW(groups, lr=config["lr"], foreach=False)


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator()
    generator.manual_seed(seed + 7919 * epoch)
    order = torch.randperm(num_samples, generator=generator)
    return order.chunk(world_size)[rank]


def padded_numel(shape, world_size):
    rows = shape[0]
    while rows % world_size:
        rows += 1
    return math.prod([rows, *shape[1:]])
