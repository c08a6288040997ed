"""Only the epoch seeds the shuffle."""

CHECK = "sample_ids"
CODE = "SEED_IGNORED"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(epoch)
    return torch.randperm(num_samples, generator=generator).tolist()[rank::world_size]
