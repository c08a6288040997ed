"""Every world_size-th element: a view, but no contiguous part."""

CHECK = "partition"
CODE = "WRONG_PARTITION"


def partition(flat, rank, world_size):
    return flat[rank::world_size]
