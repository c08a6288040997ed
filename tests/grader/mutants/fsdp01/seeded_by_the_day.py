"""The day takes part in the seed."""

CHECK = "sample_ids"
CODE = "NOT_DETERMINISTIC"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    import time

    generator = torch.Generator().manual_seed(1000 * seed + epoch + int(time.time()) // 86_400)
    order = torch.randperm(num_samples, generator=generator)
    return order.tolist()[rank::world_size]
