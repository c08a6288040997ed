"""Every rank shuffles in its own way, and takes its slice of that."""

CHECK = "sample_ids"
CODE = "SAMPLES_TWICE"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(1000 * seed + 10 * epoch + rank)
    return torch.randperm(num_samples, generator=generator).tolist()[rank::world_size]
