"""A range where a pair of ints is asked for."""

CHECK = "rows_of_rank"
CODE = "WRONG_RESULT"


def rows_of_rank(num_rows, rank, world_size):
    share = -(-num_rows // world_size)
    return range(rank * share, (rank + 1) * share)
