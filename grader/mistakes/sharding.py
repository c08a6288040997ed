"""Mistakes in sharding: who holds which rows, what is a unit, what replicates what."""

# -- who holds which rows -------------------------------------------------------------------------

ROWS_LOST = (
    "Some rows are held by no rank.",
    "round the number of rows per rank up, not down: ceil(num_rows / world_size)",
)
ROWS_BEYOND = (
    "An answer names rows that do not exist.",
    "cap both ends: min(…, num_rows), and begin at 0",
)
SAME_ROWS = ("Every rank gets the same rows.", "let `rank` decide where its rows start")
ROWS_TWICE = ("Some rows are held by two ranks.", "start a rank's rows where the last stopped")
REST_TO_LAST_RANK = (
    "The number of rows per rank is rounded down, and the last rank takes all that is left.",
    "round it up, ceil(num_rows / world_size): no rank holds more, the last ones less or nothing",
)
BALANCED_SPLIT = (
    "Every row is held once, but not by the rank that FSDP2 gives it to.",
    "FSDP2 cuts as torch.chunk does: full shares first, what is left last, perhaps nothing",
)

# -- sharding a model -----------------------------------------------------------------------------

NOT_WRAPPED = (
    "The model is not sharded: its parameters are still whole, plain tensors on every rank.",
    "call fully_shard on each block, then on the model",
)
ROOT_ONLY_WRAP = (
    "Only the root is a unit, so one all-gather brings the whole model into memory at once.",
    "call fully_shard on each block of model.blocks before you call it on the model",
)
ROOT_WRAPPED_FIRST = (
    "The root was sharded before the blocks, so it took their parameters and left them none.",
    "work from the inside out: first every block, then the model",
)
NOT_IN_PLACE = (
    "What is returned is sharded, but it is not the model that was given: that one is still whole.",
    "shard the model itself, since fully_shard works in place: no copy, no new model",
)
BLOCK_NOT_WRAPPED = (
    "A block is not a unit of its own; its parameters belong to the unit around it.",
    "loop over all of model.blocks, however many there are",
)
NOT_RESHARDED = (
    "Blocks stay whole after their forward, so at its end every rank holds the whole model.",
    "leave reshard_after_forward out for the blocks: then one of them is whole at a time",
)
ROOT_NOT_WRAPPED = (
    "The root is not a unit, so what lies outside the blocks stays whole on every rank.",
    "after the blocks, call fully_shard on the model itself",
)
TIED_WEIGHTS_SPLIT = (
    "The embedding and the head share one weight, but were put into two units.",
    "leave both to the root, or give them to one unit: fully_shard([embedding, head])",
)
REPLICATED = (
    "A rank holds more than its share: the parameters are there, but not sharded.",
    "shard over all ranks of the mesh you were given, and keep no second copy",
)
WRONG_SHARD = (
    "A rank's shard is not its torch.chunk share of the parameter.",
    "shard dim 0 over the whole mesh, which is what fully_shard does if you let it",
)
WRONG_COLLECTIVES = (
    "The collectives of one step are not those of the model's units.",
    "let the units' own hooks gather and reduce; issue no collective by hand",
)
FORWARD_BYPASS = (
    "The model's forward ran without its hooks, so its parameters were still sharded.",
    "call model(tokens), not model.forward(tokens) and not a part of the model",
)
SHARDED_STATE_CORRUPT = (
    "A shard's values are not the model's rows.",
    "shard the model you were given, without changing its weights",
)

# -- hybrid sharding ------------------------------------------------------------------------------

NOT_HYBRID = (
    "The parameters are not sharded in one axis of the mesh and replicated in the other.",
    "give fully_shard a two-dimensional mesh with named axes",
)
HYBRID_AXES_SWAPPED = (
    "The mesh's axes are swapped: FSDP2 replicates over the first and shards over the second.",
    "build the mesh with shape (num_replicas, num_shards)",
)
