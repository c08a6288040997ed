"""Every rank takes the first slice."""

CHECK = "sample_ids"
CODE = "SAME_DATA_ON_EVERY_RANK"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(1000 * seed + epoch)
    return torch.randperm(num_samples, generator=generator).tolist()[: num_samples // world_size]
