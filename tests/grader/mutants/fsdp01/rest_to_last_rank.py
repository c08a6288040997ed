"""Equal shares, and the last rank takes the rest too."""

CHECK = "rows_of_rank"
CODE = "REST_TO_LAST_RANK"


def rows_of_rank(num_rows, rank, world_size):
    share = num_rows // world_size
    return rank * share, num_rows if rank == world_size - 1 else (rank + 1) * share
