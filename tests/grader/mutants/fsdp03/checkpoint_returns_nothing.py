"""No return."""

CHECK = "checkpoint_blocks"
CODE = "WRONG_RESULT"
NEXT_STEP = "it returned None: did you forget `return`?"


def checkpoint_blocks(model, every):
    for number in range(0, len(model.blocks), every):
        model.blocks[number] = checkpoint_wrapper(model.blocks[number])
