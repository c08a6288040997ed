"""A generator instead of a list."""

CHECK = "sample_ids"
CODE = "WRONG_RESULT"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(1000 * seed + epoch)
    order = torch.randperm(num_samples, generator=generator)
    yield from order.tolist()[rank::world_size]
