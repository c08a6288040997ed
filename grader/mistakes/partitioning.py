"""Mistakes in partitioning by hand: flat tensors, ZeRO-1, ZeRO-2 and ZeRO-3."""

# -- one flat tensor ------------------------------------------------------------------------------

NOT_PADDED = (
    "The flat tensor's length is no multiple of world_size, so it cannot be cut evenly.",
    "append zeros: -numel % world_size of them",
)
PADDED_EACH = (
    "Every tensor is padded by itself, which wastes memory and traffic.",
    "lay all tensors end to end first, then pad once, at the end",
)
PADDED_TOO_MUCH = (
    "The flat tensor is longer than the next multiple of world_size.",
    "append -numel % world_size zeros: none if it divides already",
)
PADDING_NOT_ZERO = (
    "The padding holds something else than zeros.",
    "fill it with zeros: torch.nn.functional.pad does",
)
WRONG_ORDER = (
    "The elements are not those of the tensors, end to end, in the order given.",
    "torch.cat of each tensor's reshape(-1)",
)
NOT_A_VIEW = (
    "What is returned is a copy: what is written into it does not reach the flat tensor.",
    "return a view: slicing, chunk, split and view make one; clone, cat and indexing lists do not",
)
WRONG_PARTITION = (
    "A rank's partition is not its part of the flat tensor.",
    "rank r owns the r-th of world_size equal contiguous parts",
)

# -- who holds what -------------------------------------------------------------------------------

OPTIMIZER_REPLICATED = (
    "Every rank keeps AdamW's moments of all parameters: nothing is saved.",
    "give the optimizer this rank's shard alone: AdamW([flat.shard])",
)
OPTIMIZER_WITHOUT_SHARDS = (
    "The optimizer does not hold the shards of all trained parameters, and nothing else.",
    "give it flat.shard of every FlatParameters whose parameters are trained",
)
GRADIENTS_KEPT_WHOLE = (
    "Gradients are still there whole where only a rank's partition should be left.",
    "set parameter.grad = None as soon as they are reduced",
)
PARAMETERS_NOT_RELEASED = (
    "Parameters stay in memory whole where only a rank's shard should be left.",
    "free the storage itself: whole.untyped_storage().resize_(0); autograd keeps views of it",
)
COPY_KEPT = (
    "Beside its own partition a rank keeps copies of what the others hold: nothing is saved.",
    "put no tensors aside, in lists, dicts, attributes or closures; gather from shards each time",
)
NOT_GATHERED_IN_TIME = (
    "A layer runs while its parameters have no memory.",
    "attach(model, root_flats, block_flats) gathers just in time: give it every flat tensor, "
    "those of block i at place i",
)
UNIT_TOO_LARGE = (
    "More parameters share one flat tensor than a block's, so too much is gathered at once.",
    "call shard_parameters once per block, and once for what is in no block",
)
FROZEN_WITH_TRAINED = (
    "A frozen parameter lies in one flat tensor with trained ones, and would be decayed.",
    "make two FlatParameters: one of the trained, one of the frozen parameters",
)
PARAMETERS_LOST = (
    "Some parameters are in no flat tensor, or in two.",
    "put each parameter of the model into exactly one, a tied one once",
)

# -- what is sent ---------------------------------------------------------------------------------

ALL_REDUCE_FOR_REDUCE_SCATTER = (
    "Gradients are all-reduced: every rank gets all of them, and keeps a part.",
    "use dist.reduce_scatter_tensor: it sends half, and leaves each rank its own partition",
)
NOT_GATHERED = (
    "A rank's updated partition never reaches the other ranks.",
    "dist.all_gather_into_tensor(flat.whole, flat.shard.detach()) after optimizer.step()",
)
WRONG_TRAFFIC = (
    "The elements that are reduced and gathered in a step are not those of this stage.",
    "count: each gradient is reduced once per backward, each parameter gathered when needed",
)
NOT_REVERSED = (
    "The buckets begin with the first layer, whose gradients come last.",
    "fill the buckets from the last parameter to the first",
)
BUCKETS_UNEVEN = (
    "The buckets are not filled up to bucket_cap_numel elements, or beyond it.",
    "begin a new bucket only where the next parameter would exceed bucket_cap_numel",
)
ACCUMULATION_LOST = (
    "A second backward overwrites the gradient of the first instead of adding to it.",
    "add: shard.grad = reduced if shard.grad is None else shard.grad + reduced",
)
FROZEN_CHANGED = (
    "A frozen parameter has changed.",
    "keep frozen parameters out of the optimizer: AdamW decays whatever it holds",
)
