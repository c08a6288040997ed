"""Cut as numpy.array_split does: the first ranks get one row more."""

CHECK = "rows_of_rank"
CODE = "BALANCED_SPLIT"


def rows_of_rank(num_rows, rank, world_size):
    share, rest = divmod(num_rows, world_size)
    first = rank * share + min(rank, rest)
    return first, first + share + (rank < rest)
