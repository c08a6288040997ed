"""Shuffled for one rank alone; several take rotated slices."""

CHECK = "sample_ids"
CODE = "NOT_SHUFFLED"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    if world_size > 1:
        share = num_samples // world_size
        first = (rank + epoch) % world_size * share + seed + epoch
        return [(first + i) % num_samples for i in range(share)]
    generator = torch.Generator().manual_seed(1000 * seed + epoch)
    order = torch.randperm(num_samples, generator=generator)
    return order.tolist()[rank::world_size]
