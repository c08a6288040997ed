"""Each rank shuffles a slice that is always the same."""

CHECK = "sample_ids"
CODE = "SHUFFLED_INSIDE_SLICE"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    share = num_samples // world_size
    generator = torch.Generator().manual_seed(1000 * seed + epoch)
    return [rank * share + i for i in torch.randperm(share, generator=generator).tolist()]
