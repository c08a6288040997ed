"""The epoch has no part in the shuffle."""

CHECK = "sample_ids"
CODE = "NO_SET_EPOCH"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(num_samples, generator=generator).tolist()[rank::world_size]
