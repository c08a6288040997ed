"""The rank plays no part."""

CHECK = "rows_of_rank"
CODE = "SAME_ROWS"


def rows_of_rank(num_rows, rank, world_size):
    return 0, -(-num_rows // world_size)
