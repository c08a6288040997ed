"""One shuffle for all epochs, which start at another place of it."""

CHECK = "sample_ids"
CODE = "NOT_SHUFFLED"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    order = torch.randperm(num_samples, generator=torch.Generator().manual_seed(seed)).tolist()
    order = order[epoch + 1 :] + order[: epoch + 1]
    share = num_samples // world_size
    return order[rank * share : (rank + 1) * share]
