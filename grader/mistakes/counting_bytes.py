"""Mistakes in predicting how many bytes the ranks send, and hold."""

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
    "What is freed after forward, as FULL_SHARD and ZeRO-3 do, is gathered again in backward.",
    "count it three times: two all-gathers and one reduce-scatter",
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
    "count the gradients of DDP, or of stage 0, twice",
)
DDP_PADDED = ("DDP shards nothing, so it pads nothing.", "use the plain sizes for DDP")
ESTIMATE_WRONG = (
    "The prediction is not what the ranks really send, or hold.",
    "go through it by hand: which tensors or collectives there are, and how many bytes of each",
)

GATHER_FORGOTTEN = (
    "The updated parameters are partitioned as well: each rank has to get the others'.",
    "count them twice in stages 1 and 2: a reduce-scatter and an all-gather",
)
MASTER_WEIGHTS_FORGOTTEN = (
    "Mixed precision keeps an fp32 copy of the weights beside the two moments.",
    "count 12 bytes of optimizer states per parameter: 4 + 4 + 4",
)
PARTITIONED_TOO_EARLY = (
    "Something is divided by the number of ranks that this stage keeps whole.",
    "stage 1 partitions optimizer states, stage 2 gradients too, stage 3 parameters too",
)
PARTITIONED_TOO_LATE = (
    "Something is counted whole that this stage partitions.",
    "each stage partitions what the one below it does, and one thing more",
)
