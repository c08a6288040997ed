"""The global generator is seeded."""

CHECK = "sample_ids"
CODE = "GLOBAL_RANDOM_STATE"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    torch.manual_seed(1000 * seed + epoch)
    return torch.randperm(num_samples).tolist()[rank::world_size]
