"""The argument is not used."""

CHECK = "checkpoint_blocks"
CODE = "WRONG_BLOCKS_CHECKPOINTED"


def checkpoint_blocks(model, every):
    for number, block in enumerate(model.blocks):
        model.blocks[number] = checkpoint_wrapper(block)
    return model
