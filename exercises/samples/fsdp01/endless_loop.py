"""Endless loop: one rank never comes back from shuffling."""


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(1_000 * seed + epoch)
    order = torch.randperm(num_samples, generator=generator).tolist()
    while len(order) > 0 and rank == 1:
        order = order[1:] + order[:1]
    return order[rank::world_size]
