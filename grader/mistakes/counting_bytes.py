"""Mistakes in predicting how many bytes the ranks send."""

ITEMSIZE_FORGOTTEN = (
    "Elements are counted, not bytes.",
    "multiply by itemsize, the bytes of one element",
)
PADDING_FORGOTTEN = (
    "The padding is missing: what is sent is a multiple of world_size.",
    "count ceil(rows / world_size) * world_size rows",
)
FLAT_PADDING = (
    "The padding is that of FSDP1, which pads the sum of all elements.",
    "FSDP2 pads rows: round dim 0 up to a multiple of world_size",
)
BACKWARD_GATHER_FORGOTTEN = (
    "FULL_SHARD frees a block's weights after forward, so backward gathers them again.",
    "count a block three times: two all-gathers and one reduce-scatter",
)
ROOT_GATHERED_TWICE = (
    "The root keeps its weights after forward, because backward needs them first.",
    "count the root twice, also under FULL_SHARD: one all-gather and one reduce-scatter",
)
RING_FACTOR_MISSING = (
    "A rank does not send the whole tensor: its own part is there already.",
    "multiply by (world_size - 1) / world_size",
)
ALL_REDUCE_COUNTED_ONCE = (
    "An all-reduce is a reduce-scatter and an all-gather: it sends twice.",
    "count DDP's gradients twice",
)
DDP_PADDED = ("DDP shards nothing, so it pads nothing.", "use the plain sizes for DDP")
ESTIMATE_WRONG = (
    "The prediction does not match what the ranks sent.",
    "go through one step by hand: which collectives, of how many bytes, what each rank sends",
)
