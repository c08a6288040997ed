"""The seed is the hash of a text, which every Python process salts anew."""

CHECK = "sample_ids"
CODE = "NOT_DETERMINISTIC"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(hash(f"{seed}-{epoch}") % 2**32)
    return torch.randperm(num_samples, generator=generator).tolist()[rank::world_size]
