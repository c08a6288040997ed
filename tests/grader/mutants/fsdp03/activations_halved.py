"""A rule of thumb."""

CHECK = "predict_activation_bytes"
CODE = "ACTIVATIONS_MISCOUNTED"


def predict_activation_bytes(one_block, two_blocks, one_checkpointed, num_blocks, num_checkpointed):
    return num_blocks * two_blocks / 2 - num_checkpointed * one_checkpointed
