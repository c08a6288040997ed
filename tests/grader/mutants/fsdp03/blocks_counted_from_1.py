"""Blocks every - 1, 2 * every - 1, …"""

CHECK = "checkpoint_blocks"
CODE = "WRONG_BLOCKS_CHECKPOINTED"


def checkpoint_blocks(model, every):
    for number in range(every - 1, len(model.blocks), every):
        model.blocks[number] = checkpoint_wrapper(model.blocks[number])
    return model
