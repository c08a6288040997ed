"""Formatted."""

CHECK = "predict_activation_bytes"
CODE = "WRONG_RESULT"


def predict_activation_bytes(one_block, two_blocks, one_checkpointed, num_blocks, num_checkpointed):
    return f"{one_block + (num_blocks - 1) * (two_blocks - one_block):,} bytes"
