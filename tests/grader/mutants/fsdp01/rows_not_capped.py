"""The ends are not capped."""

CHECK = "rows_of_rank"
CODE = "ROWS_BEYOND"


def rows_of_rank(num_rows, rank, world_size):
    share = -(-num_rows // world_size)
    return rank * share, (rank + 1) * share
