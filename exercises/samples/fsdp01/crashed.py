"""Crashed: a cell ends the kernel's own process."""

import os

os._exit(1)


def sample_ids(num_samples, epoch, seed, rank, world_size):
    return list(range(rank, num_samples, world_size))
