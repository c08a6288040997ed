"""Mistakes in activation checkpointing: what is kept, what is recomputed, what it costs."""

NOT_CHECKPOINTED = (
    "No block is recomputed in backward: all activations are kept.",
    "put the wrapped block back: model.blocks[number] = checkpoint_wrapper(block)",
)
WRONG_BLOCKS_CHECKPOINTED = (
    "Other blocks are recomputed than the ones asked for.",
    "wrap the blocks 0, every, 2 * every, …, and leave the others alone",
)
ROOT_CHECKPOINTED = (
    "The whole model is one region: backward recomputes all of it at once and then holds it all.",
    "wrap blocks, not the model: one region at a time is recomputed",
)
REENTRANT_CHECKPOINT = (
    "The checkpoints are of the old, reentrant kind, which runs its forward without autograd.",
    "CheckpointImpl.NO_REENTRANT is checkpoint_wrapper's default; checkpoint(use_reentrant=False)",
)
RECOMPUTE_MISMATCH = (
    "The gradients are not those of the same model without checkpointing.",
    "the recomputation must draw the same random numbers: leave preserve_rng_state at True",
)
ACTIVATIONS_KEPT = (
    "More activations are alive at the end of forward than this way of checkpointing needs.",
    "keep for backward only what is asked for; everything else is recomputed",
)
MATMULS_RECOMPUTED = (
    "Matmuls are recomputed in backward, which costs FLOPs.",
    "keep the results of aten.mm and aten.bmm: return CheckpointPolicy.MUST_SAVE for both",
)
ACTIVATIONS_MISCOUNTED = (
    "The prediction is not what the ranks hold at the end of forward.",
    "rest + num_blocks * block - num_checkpointed * saved; find the three from the measurements",
)
REST_COUNTED_PER_BLOCK = (
    "What the embedding, the norm and the head keep is counted once per block.",
    "two_blocks - one_block is what a block adds; the rest is there once",
)
CHECKPOINTED_COUNTED_AS_NOTHING = (
    "A checkpointed block is counted as nothing, but its input is kept to start again from.",
    "one_block - one_checkpointed is what checkpointing a block saves",
)
BUDGET_EXCEEDED = (
    "The chosen policies need more bytes than the budget.",
    "add up rest_bytes and each block's bytes, and drop what exceeds budget_bytes",
)
NOT_THE_CHEAPEST = (
    "Another choice fits as well and recomputes less.",
    "try mixtures too: itertools.combinations_with_replacement(policies, num_blocks)",
)
GAVE_UP = (
    "The answer is None, but a choice fits.",
    "return None only where even the smallest policy on every block exceeds the budget",
)
