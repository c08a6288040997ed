"""The seed is a hash of two ints; ids as a tensor; sharding by another loop."""


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(hash((seed, epoch)) % 2**31)
    order = torch.randperm(num_samples, generator=generator)
    return order[rank::world_size]
