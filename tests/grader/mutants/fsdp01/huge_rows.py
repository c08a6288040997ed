"""Rows far beyond the last one: nothing may count them one by one."""

CHECK = "rows_of_rank"
CODE = "WRONG_RESULT"


def rows_of_rank(num_rows, rank, world_size):
    return 10**12 * rank, 10**12 * rank + 10**11
