"""The share is rounded down, so the last rows belong to nobody."""

CHECK = "rows_of_rank"
CODE = "ROWS_LOST"


def rows_of_rank(num_rows, rank, world_size):
    share = num_rows // world_size
    return rank * share, (rank + 1) * share
