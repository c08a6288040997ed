"""Dropout draws other numbers the second time."""

CHECK = "checkpoint_blocks"
CODE = "RECOMPUTE_MISMATCH"


def checkpoint_blocks(model, every):
    for number in range(0, len(model.blocks), every):
        block = model.blocks[number]
        model.blocks[number] = checkpoint_wrapper(block, preserve_rng_state=False)
    return model
