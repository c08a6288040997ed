"""A slice is one longer than needed, so the last rank comes out short."""

CHECK = "sample_ids"
CODE = "UNEVEN_BATCHES"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(1000 * seed + epoch)
    order = torch.randperm(num_samples, generator=generator).tolist()
    share = num_samples // world_size + (world_size > 1)
    return order[rank * share : (rank + 1) * share]
