"""One region for the whole model."""

CHECK = "checkpoint_blocks"
CODE = "ROOT_CHECKPOINTED"


def checkpoint_blocks(model, every):
    return checkpoint_wrapper(model)
