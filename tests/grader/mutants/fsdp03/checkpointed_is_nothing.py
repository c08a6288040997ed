"""A checkpointed block keeps its input."""

CHECK = "predict_activation_bytes"
CODE = "CHECKPOINTED_COUNTED_AS_NOTHING"


def predict_activation_bytes(one_block, two_blocks, one_checkpointed, num_blocks, num_checkpointed):
    block = two_blocks - one_block
    return one_block - block + (num_blocks - num_checkpointed) * block
