"""Attention and feed-forward are regions of their own: more inputs are kept."""

CHECK = "checkpoint_blocks"
CODE = "ACTIVATIONS_KEPT"


def checkpoint_blocks(model, every):
    for number in range(0, len(model.blocks), every):
        block = model.blocks[number]
        block.attention = checkpoint_wrapper(block.attention)
        block.feed_forward = checkpoint_wrapper(block.feed_forward)
    return model
