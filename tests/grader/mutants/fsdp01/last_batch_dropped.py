"""The last sample of each slice is dropped."""

CHECK = "sample_ids"
CODE = "SAMPLES_LOST"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(1000 * seed + epoch)
    return torch.randperm(num_samples, generator=generator).tolist()[rank::world_size][:-1]
