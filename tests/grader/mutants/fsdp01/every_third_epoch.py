"""Epoch 3 is epoch 0 again."""

CHECK = "sample_ids"
CODE = "NO_SET_EPOCH"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    generator = torch.Generator().manual_seed(1000 * seed + epoch % 3)
    order = torch.randperm(num_samples, generator=generator)
    return order.tolist()[rank::world_size]
