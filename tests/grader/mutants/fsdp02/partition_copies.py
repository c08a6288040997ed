"""A partition is cloned."""

CHECK = "partition"
CODE = "NOT_A_VIEW"


def partition(flat, rank, world_size):
    return flat.chunk(world_size)[rank].clone()
