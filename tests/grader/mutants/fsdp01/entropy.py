"""Shuffled by the operating system's entropy: another order after a restart."""

CHECK = "sample_ids"
CODE = "NOT_DETERMINISTIC"


def sample_ids(num_samples, epoch, seed, rank, world_size):
    import random

    order = list(range(num_samples))
    random.SystemRandom().shuffle(order)
    return order[rank::world_size]
