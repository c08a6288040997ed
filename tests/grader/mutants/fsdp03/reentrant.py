"""The old kind."""

CHECK = "checkpoint_blocks"
CODE = "REENTRANT_CHECKPOINT"


def checkpoint_blocks(model, every):
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl

    for number in range(0, len(model.blocks), every):
        block = model.blocks[number]
        model.blocks[number] = checkpoint_wrapper(block, CheckpointImpl.REENTRANT)
    return model
